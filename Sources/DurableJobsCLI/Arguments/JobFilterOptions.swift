import ArgumentParser
import DurableJobs
import DurableJobsAdmin
import Foundation

/// The filters of a job list.
struct JobFilterOptions<P: QueueProgram>: ParsableArguments, Sendable {
  @Option(help: "Jobs of this kind alone.", completion: .kinds(of: P.self)) var kind: String?
  @Option(help: "Jobs of this queue alone.", completion: .queues(of: P.self)) var queue: String?
  @Option(help: "Jobs with this in their payloads, letter for letter.") var text: String?
  @Option(help: "Jobs asked for (dead: that died) from then on: \(Moment.form).") var since: Moment?
  @Option(help: "And before then.") var until: Moment?
  @OptionGroup var page: PageOptions

  func filter(_ state: JobState?) -> JobFilter {
    JobFilter(
      state: state, kind: kind, queue: queue, text: text, since: since?.date, until: until?.date, before: page.before,
      limit: page.limit)
  }
}

extension Output {
  /// Prints a page of jobs.
  ///
  /// - Parameter empty: the text printed if the page is empty.
  func jobs(_ page: JobPage, kind: String?, of kinds: JobKinds, empty: String) throws {
    if isJSON { return try json(page) }
    if let searched = page.searched {
      say("\(searched.grouped) jobs were looked at, and there are more: --before goes on")
    }
    var empty = empty
    if let kind, let hint = kinds.nearest(to: kind) {
      empty += "; there is no kind '\(kind)': is it '\(hint)'?"
    }
    try list(page.items, next: page.next, empty: empty) { Table(jobs: $0) }
  }
}

extension Table {
  init(jobs: [JobSummary]) {
    let now = JobClock.now
    self.init(
      [
        .id(), .text("kind"), .text("queue").extra, .state(), .number("attempts").extra, .text("when"),
        .elastic("error"),
      ],
      rows: jobs.map { job in
        [
          job.id, job.kind, job.queue, job.state.rawValue, String(job.attempts), job.when(now), job.error ?? "",
        ]
      })
  }
}

extension JobSummary {
  /// When the job is due, or since when it has been in its state.
  fileprivate func when(_ now: Date) -> String {
    (endedAt ?? diedAt ?? (runAt.flatMap { $0 > now ? $0 : nil }) ?? createdAt).away(from: now)
  }
}
