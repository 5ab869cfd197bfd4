import DurableJobs
import DurableJobsAdmin
import DurableJobsDashboard
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import Hummingbird
import Social
import SocialAdmin

/// Pictures: their owners, their processing state, and how to delete one.
struct PicturePages: DashboardPages {
  let media: MediaAdmin
  let jobs: JobClient<RedisBroker, PostgresLedger>

  let menu = [DashboardMenuEntry("Pictures", path: "pictures")]
  let templates = ["pictures": String(decoding: PackageResources.pictures_mustache, as: UTF8.self)]

  func add(to routes: inout DashboardRoutes) {
    routes.page("pictures", list)
    routes.action("pictures/delete") { visit, form in
      let (id, reason) = (try form.require("id"), try form.reason())
      let question = visit.confirm(
        form, "Delete the picture \(id)?",
        "It is removed from all posts and profiles that show it. This cannot be undone.",
        label: "Delete", back: "pictures")
      if let question { return question }
      _ = try await media.delete(id, because: reason, by: visit.actor, through: jobs)
      return try await visit.done("The picture \(id) is deleted.", to: "pictures")
    }
  }

  func refusal(of error: any Error) -> DashboardRefusal? { DashboardRefusal(ofSocial: error) }

  private static let anyState = "any"

  private struct Model {
    let owner: String
    let states: [PageChoice]
    /// Without an owner, and with a state, the list is read from all pictures: too much to repeat every two seconds.
    let isLive: Bool
    let hasPictures: Bool
    let pictures: [Row]
    let next: String?
  }

  private struct Row {
    let id: String
    let owner: String?
    let state: String
    let style: String
    let reason: String?
    let size: String
    let bytes: String
    let uses: String
    let uploaded: PageMoment
  }

  @Sendable private func list(_ visit: DashboardVisit) async throws -> Response {
    let (owner, chosen) = (visit.query["owner"], visit.query["state"] ?? Self.anyState)
    let page = try await media.list(
      owner: owner, state: Media.State(rawValue: chosen), before: visit.query["before"])
    let rows = page.items.map { picture in
      Row(
        id: picture.id, owner: picture.owner, state: picture.state, style: Self.style(picture.state),
        reason: picture.reason, size: "\(picture.width) × \(picture.height)", bytes: PageFormat.number(picture.bytes),
        uses: PageFormat.number(picture.uses), uploaded: visit.moment(picture.createdAt))
    }
    let model = Model(
      owner: owner ?? "",
      states: PageChoice.all([Self.anyState] + Media.State.allCases.map(\.rawValue), chosen: chosen),
      isLive: owner != nil && chosen == Self.anyState, hasPictures: !rows.isEmpty, pictures: rows,
      next: page.next.map {
        DashboardLink.to("pictures", ("owner", owner), ("state", chosen), ("before", $0))
      })
    return try await visit.page("pictures", title: "Pictures", model)
  }

  private static func style(_ state: String) -> String {
    switch state {
    case "failed": "bad"
    case "waiting": "warn"
    default: "ok"
    }
  }
}
