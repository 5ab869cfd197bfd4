import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import LibPQClient
import SocialAdmin

/// All lists and pages for operators, over the contents of `AdminTables`: the calls behind them, the dashboard's pages
/// over HTTP, and the CLI's lists, from process start to exit.
enum Admin {
  private static let repeats = 20

  /// A request behind a page or a list.
  struct Question: Sendable {
    let name: String
    let ask: @Sendable () async throws -> Void

    init(_ name: String, _ ask: @escaping @Sendable () async throws -> Void) {
      self.name = name
      self.ask = ask
    }
  }

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    let beside = ", 1,000,000 jobs waiting, 100,000 dead"
    var figures = ["call behind a list", "page of the dashboard", "list of the CLI"].map {
      (
        slowest: Figure("slowest \($0)" + beside, .milliseconds, [.atMost(100)]),
        usual: Figure("median \($0)" + beside, .milliseconds)
      )
    }
    let database = try stage.needDatabase()
    stage.note("admin: filling the tables")
    try await stage.flush()
    try await AdminTables.fill(stage, database)
    let dashboard = try await AdminDashboard.start(stage)
    for run in 1...stage.runs {
      stage.note("admin, run \(run)")
      let asked = [
        try await calls(stage, database), try await dashboard.pages(database), try stage.programs().lists,
      ]
      for (number, questions) in asked.enumerated() {
        let (slowest, usual) = try await ask(questions, stage)
        figures[number].slowest.samples.append(slowest)
        figures[number].usual.samples.append(usual)
      }
    }
    try await dashboard.stop()
    try await AdminTables.clean(stage, database)
    return figures.flatMap { [$0.slowest, $0.usual] }
  }

  /// Sends each request repeatedly.
  ///
  /// - Returns: the slowest single response, and the median of the requests' medians, in milliseconds.
  private static func ask(_ questions: [Question], _ stage: Stage) async throws -> (slowest: Double, usual: Double) {
    var worst: (name: String, milliseconds: Double) = ("", 0)
    var medians: [Double] = []
    for question in questions {
      var samples: [Double] = []
      for _ in 0..<repeats {
        let start = ContinuousClock.now
        try await question.ask()
        samples.append(start.duration(to: .now) / .milliseconds(1))
      }
      let (median, most) = (Figure.median(samples) ?? .nan, samples.max() ?? .nan)
      stage.note(String(format: "  %7.1f ms, at most %7.1f  \(question.name)", median, most))
      medians.append(median)
      if most > worst.milliseconds { worst = (question.name, most) }
    }
    stage.note("  the slowest: \(worst.name)")
    return (worst.milliseconds, Figure.median(medians) ?? .nan)
  }

  private static func calls(_ stage: Stage, _ database: Database) async throws -> [Question] {
    let pool = database.pool
    let tables = JobsDatabase(pool: pool)
    let jobs = JobAdmin(
      JobClient(broker: stage.broker, ledger: PostgresLedger(tables), logger: stage.logger), kinds: .app)
    let queues = QueueAdmin(tables, broker: stage.broker, known: jobs.kinds.queues)
    let statistics = Statistics(tables)
    var questions: [Question] = []
    func page(_ name: String, _ filter: JobFilter) {
      questions.append(Question("jobs, \(name)") { _ = try await jobs.page(filter) })
    }
    page("all", JobFilter())
    for state in JobState.allCases { page("\(state)", JobFilter(state: state)) }
    for kind in ["posts.fan-out", "rare.kind"] {
      page("kind \(kind)", JobFilter(kind: kind))
      page("dead, kind \(kind)", JobFilter(state: .dead, kind: kind))
    }
    for queue in ["fanout", "lookups", "nobody's"] {
      page("queue \(queue)", JobFilter(queue: queue))
      page("dead, queue \(queue)", JobFilter(state: .dead, queue: queue))
    }
    page("waiting, text that is nowhere", JobFilter(state: .waiting, text: "nowhere"))
    page("dead, text that is nowhere", JobFilter(state: .dead, text: "nowhere"))
    page("ended, text that is nowhere", JobFilter(state: .cancelled, text: "nowhere"))
    page("queue, kind and text", JobFilter(kind: "rare.kind", queue: "fanout", text: "\"post\""))
    page("of the last minute", JobFilter(since: Date(timeIntervalSinceNow: -60)))
    let middle = try await database.pool.query(
      "SELECT id FROM jobs.jobs WHERE queue = 'fanout' ORDER BY id LIMIT 1 OFFSET 300000"
    )
    .decode(PostgresUUID.self).first
    if let middle { page("in the middle", JobFilter(before: JobID(middle).description)) }
    for table in ["jobs", "dead_jobs", "ended_jobs"] {
      let id = try await database.pool.query("SELECT id FROM \(unescaped: table) LIMIT 1").decode(PostgresUUID.self)
        .first
      guard let id else { throw BenchError("there is nothing in \(table)") }
      questions.append(Question("a job of \(table)") { _ = try await jobs.show(JobID(id).description) })
    }
    questions.append(Question("queues") { _ = try await queues.list() })
    questions.append(Question("a queue") { _ = try await queues.show("fanout") })
    questions.append(Question("workers") { _ = try await WorkerAdmin(tables).list() })
    questions.append(Question("actions") { _ = try await ActionLog(tables).page() })
    questions.append(Question("actions on a queue") { _ = try await ActionLog(tables).page(subject: "fanout") })
    for window in Statistics.Window.allCases {
      questions.append(Question("series, \(window)") { _ = try await statistics.series(window) })
      questions.append(Question("totals, \(window)") { _ = try await statistics.totals(window) })
      questions.append(Question("kinds, \(window)") { _ = try await statistics.kinds(window) })
    }
    return questions
  }
}
