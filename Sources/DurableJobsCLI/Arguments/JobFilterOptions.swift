import ArgumentParser
import DurableJobs
import DurableJobsAdmin
import Foundation

/// Which jobs.
struct JobConditions<P: QueueProgram>: ParsableArguments, Sendable {
  @Option(help: "Only jobs of this kind.", completion: .kinds(of: P.self)) var kind: String?
  @Option(help: "Only jobs of this queue.", completion: .queues(of: P.self)) var queue: String?
  @Option(help: "Only jobs whose payload contains this exact text.") var text: String?
  @Option(help: "Only jobs whose latest error contains this exact text.") var error: String?
  @Option(help: "Only jobs enqueued (dead letters: that died) since then: \(Moment.form).") var since: Moment?
  @Option(help: "Only jobs from before then.") var until: Moment?

  func filter(_ state: JobState?) -> JobFilter {
    JobFilter(
      state: state, kind: kind, queue: queue, text: text, error: error, since: since?.date, until: until?.date)
  }

  /// Whether any is given.
  var isGiven: Bool { filter(nil) != JobFilter() }

  /// A suggestion if the given kind does not exist.
  var hint: String {
    guard let kind, let nearest = P.kinds.nearest(to: kind) else { return "" }
    return "; there is no kind '\(kind)': did you mean '\(nearest)'?"
  }

  /// The jobs in words.
  ///
  /// - Parameter what: such as `pending jobs`.
  func text(of what: String) -> String {
    var words = "all \(what)"
    if let kind { words += " of kind \(kind)" }
    if let queue { words += " in \(queue)" }
    if let text { words += " with '\(text)' in their payload" }
    if let error { words += " with '\(error)' in their latest error" }
    if let since { words += " since \(since.date.formatted(.iso8601))" }
    if let until { words += " before \(until.date.formatted(.iso8601))" }
    return words
  }
}

/// One job, those that pass a filter, or all.
struct JobChoice<P: QueueProgram>: ParsableArguments, Sendable {
  @Argument(help: "The job's id.") var id: String?
  @OptionGroup var conditions: JobConditions<P>
  @Flag(help: "All of them.") var all = false
  @Flag(help: "Count them by kind, and change nothing.") var dryRun = false
  @Option(help: "The most jobs a second.") var rate: Int?

  /// - Parameter isFiltered: whether a condition is given beside the common ones.
  func check(isFiltered: Bool = false) throws {
    guard (id != nil) != (all || isFiltered || conditions.isGiven) else {
      throw ValidationError(
        "give an ID, or a filter (--kind, --queue, --text, --error, --since, --until), or --all")
    }
    if id != nil, dryRun || rate != nil { throw ValidationError("--dry-run and --rate are for a filter or --all") }
    if let rate, rate < 1 { throw ValidationError("--rate is 1 or more") }
  }

  /// Prints the numbers of a dry run.
  func count(_ state: JobState?, _ what: String, _ jobs: JobAdmin, _ output: Output) async throws {
    let counts = try await jobs.counts(conditions.filter(state)).map { JobCount(kind: $0.kind, count: $0.count) }
    try output.one(JobCountList(items: counts)) { counts in
      let total = counts.items.reduce(0) { $0 + $1.count }
      let kinds = counts.items.map { "\($0.kind) \($0.count.grouped)" }.joined(separator: ", ")
      return "\(total.grouped) \(what)\(kinds.isEmpty ? "" : ": \(kinds)")\(conditions.hint)"
    }
  }
}

struct JobCount: Encodable {
  let kind: String
  let count: Int
}

struct JobCountList: Encodable {
  let items: [JobCount]
}

/// The filters of a job list.
struct JobFilterOptions<P: QueueProgram>: ParsableArguments, Sendable {
  @OptionGroup var conditions: JobConditions<P>
  @OptionGroup var page: PageOptions

  var kind: String? { conditions.kind }

  func filter(_ state: JobState?) -> JobFilter {
    var filter = conditions.filter(state)
    (filter.before, filter.limit) = (page.before, page.limit)
    return filter
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
