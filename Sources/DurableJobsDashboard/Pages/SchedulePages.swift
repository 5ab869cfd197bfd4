import DurableJobsAdmin
import Foundation
import Hummingbird

/// Schedules: past and next runs, with actions to run, pause and resume one.
struct SchedulePages: DashboardPages {
  let schedules: ScheduleAdmin
  let jobs: JobAdmin

  var menu: [DashboardMenuEntry] { [DashboardMenuEntry("Schedules", path: "schedules")] }

  func add(to routes: inout DashboardRoutes) {
    routes.page("schedules", list)
    routes.action("schedules/run") { visit, form in
      let name = try form.require("name")
      let run = try await schedules.run(name, on: jobs, by: visit.actor)
      return try await visit.done("\(name) runs now, as job \(run.id).", to: "schedules")
    }
    routes.action("schedules/pause") { visit, form in
      let name = try form.require("name")
      _ = try await schedules.pause(name, by: visit.actor)
      return try await visit.done("\(name) does not fire until it is resumed.", to: "schedules")
    }
    routes.action("schedules/resume") { visit, form in
      let name = try form.require("name")
      _ = try await schedules.resume(name, by: visit.actor)
      return try await visit.done("\(name) fires again, starting with its next tick.", to: "schedules")
    }
  }

  private struct Model {
    let schedules: [Row]
  }

  private struct Row {
    let name: String
    /// The kind of its jobs, if it differs from the schedule's name.
    let asks: String?
    let state: String
    let style: String
    let timing: String
    let last: PageMoment?
    let next: PageMoment?
    let isPaused: Bool
    let canRun: Bool
  }

  @Sendable private func list(_ visit: DashboardVisit) async throws -> Response {
    let rows = try await schedules.list().map { schedule in
      Row(
        name: schedule.name, asks: schedule.kind == schedule.name ? nil : schedule.kind, state: schedule.state.rawValue,
        style: Self.style(schedule.state),
        timing: schedule.timing, last: visit.moment(schedule.lastTick), next: visit.moment(schedule.nextTick),
        isPaused: schedule.state == .paused, canRun: schedule.state != .unknown)
    }
    return try await visit.page("schedules", title: "Schedules", Model(schedules: rows))
  }

  private static func style(_ state: ScheduleSummary.State) -> String {
    switch state {
    case .active: "ok"
    case .paused, .unknown: "warn"
    case .overdue: "bad"
    case .new: "still"
    }
  }
}
