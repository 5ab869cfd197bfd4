import ArgumentParser
import DurableJobs
import DurableJobsAdmin
import Foundation

/// The filters of a job list.
struct JobFilterOptions<P: QueueProgram>: ParsableArguments, Sendable {
  @Option(help: "Only jobs of this kind.", completion: .kinds(of: P.self)) var kind: String?
  @Option(help: "Only jobs of this queue.", completion: .queues(of: P.self)) var queue: String?
  @Option(help: "Only jobs whose payload contains this exact text.") var text: String?
  @Option(help: "Only jobs enqueued (dead letters: that died) since then: \(Moment.form).") var since: Moment?
  @Option(help: "Only jobs from before then.") var until: Moment?
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
      say("\(searched.grouped) jobs were searched, and there are more: continue with --before")
    }
    var empty = empty
    if let kind, let hint = kinds.nearest(to: kind) {
      empty += "; there is no kind '\(kind)': did you mean '\(hint)'?"
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
