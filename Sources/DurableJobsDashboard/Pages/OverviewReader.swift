import DurableJobsAdmin
import Foundation
import HiredisClient
import LibPQClient

/// Assembles the overview.
struct OverviewReader: Sendable {
  let queues: QueueAdmin
  let workers: WorkerAdmin
  let figures: Figures
  let health: HealthBoard
  let alarms: AlarmBook
  let pool: PostgresPool
  let redis: RedisClient
  let now: @Sendable () -> Date
  var terms = DoctorTerms()
  /// The pages for findings that are not the queue's.
  var address: @Sendable (_ finding: String) -> String? = { _ in nil }

  /// The number of workers listed.
  private static let shown = 12

  /// The overview now.
  func overview(_ window: Statistics.Window) async throws -> Overview {
    async let queueList = queues.list()
    async let workerList = workers.list()
    async let totals = figures.statistics.queues(window)
    async let charts = figures.charts(window)
    async let alarmList = alarms.open()
    async let servers = servers()
    let checkup = health.latest()
    let attention = Self.attention(
      checkup, try await alarmList, try await queueList, try await workerList, address: address)
    let (verdict, style) = Self.verdict(attention, isChecked: checkup != nil)
    let (all, sums) = (try await queueList, try await totals)
    let standing = try await workerList.map { worker in
      Overview.Standing(
        worker.name, worker.state.rawValue, worker.state.style,
        worker.running.isEmpty ? "idle" : "\(worker.running.count) running")
    }
    return try await Overview(
      verdict: verdict, verdictStyle: style, hasAttention: !attention.isEmpty,
      attention: attention, numbers: Self.numbers(all, sums, window), windows: Figures.tabs(window, at: ""),
      charts: charts,
      queues: all.map { queue in
        let row = QueuePages.Row(queue)
        let sum = sums[queue.queue]
        return Overview.Queue(
          name: row.name, isPaused: row.isPaused, isUnserved: row.isUnserved, ready: row.ready, running: row.running,
          oldestWaiting: row.oldestWaiting, oldestRunning: row.oldestRunning,
          wait: PageFormat.percentiles(sum?.wait), run: PageFormat.percentiles(sum?.run))
      },
      hasWorkers: !standing.isEmpty, start: .starting(terms), workers: Array(standing.prefix(Self.shown)),
      moreWorkers: standing.count > Self.shown ? "and \(standing.count - Self.shown) more" : nil, servers: servers,
      checks: (checkup?.findings ?? []).map { finding in
        Overview.Standing(finding.name, finding.status.rawValue, finding.status.style, finding.detail)
      }, checkedAt: checkup.map { String(PageMoment($0.at, now: now()).text.dropFirst(11)) })
  }

  // MARK: What needs attention

  static func attention(
    _ checkup: HealthBoard.Checkup?, _ alarms: [Alarm], _ queues: [QueueSummary], _ workers: [WorkerSummary],
    address: (_ finding: String) -> String? = { _ in nil }
  ) -> [Overview.Attention] {
    // The page has newer figures for these.
    let seen: Set = ["paused queues", "lost workers"]
    let findings = (checkup?.findings ?? []).filter { $0.status != .ok && !seen.contains($0.name) }.sorted {
      $0.status > $1.status
    }
    var attention = findings.map { finding in
      Overview.Attention(
        finding.name, finding.status == .fail ? "broken" : "warning", finding.status.style, finding.detail,
        advice: finding.advice, href: href(of: finding.name) ?? address(finding.name))
    }
    attention += alarms.map { alarm in
      Overview.Attention(
        alarm.queue, "alarm", "bad",
        "its oldest \(alarm.concern.rawValue) job passed its limit of \(PageFormat.duration(alarm.limit))",
        advice: "since \(PageMoment(alarm.openedAt, now: alarm.openedAt).text) UTC",
        href: "queues/" + DashboardLink.escape(alarm.queue))
    }
    let lost = workers.filter { $0.state == .lost }
    if !lost.isEmpty {
      attention.append(
        Overview.Attention(
          "workers", "warning", "warn",
          "\(lost.map(\.name).joined(separator: ", ")) stopped reporting without leaving",
          advice: "its jobs are handed on when its leases end; start another worker", href: "workers"))
    }
    let paused = queues.filter(\.isPaused).map(\.queue)
    if !paused.isEmpty {
      attention.append(
        Overview.Attention(
          "paused", "warning", "warn", paused.joined(separator: ", "),
          advice: "no worker claims from \(paused.count == 1 ? "it" : "them") until it is resumed", href: "queues"))
    }
    return attention
  }

  private static func href(of finding: String) -> String? {
    switch finding {
    case "dead letters": "dead"
    case "parked jobs": "jobs?state=parked"
    case "workers": "workers"
    case "schedules": "schedules"
    default: nil
    }
  }

  static func verdict(_ attention: [Overview.Attention], isChecked: Bool) -> (String, String) {
    let broken = attention.count { $0.style == "bad" }
    if broken > 0 { return (broken == 1 ? "Something is wrong" : "\(broken) things are wrong", "bad") }
    switch attention.count {
    case 0: return isChecked ? ("All is well", "ok") : ("Checking…", "warn")
    case 1: return ("One thing needs attention", "warn")
    case let count: return ("\(count) things need attention", "warn")
    }
  }

  // MARK: Numbers

  private static func numbers(
    _ queues: [QueueSummary], _ sums: [String: StatisticsTotals], _ window: Statistics.Window
  ) -> [Overview.Number] {
    let sum = { (number: (QueueSummary) -> Int) in queues.reduce(0) { $0 + number($1) } }
    let ended = { (number: (StatisticsTotals) -> Int) in sums.values.reduce(0) { $0 + number($1) } }
    let (completed, failed, dead) = (ended(\.completed), ended(\.failed), ended(\.dead))
    let oldest = queues.compactMap(\.oldestWaiting).max()
    let name = "last \(window.rawValue)"
    return [
      Overview.Number(
        label: "Waiting", value: PageFormat.number(sum(\.ready)),
        sub: oldest.map { "longest for \(PageFormat.duration($0))" } ?? "", style: "", href: "jobs?state=waiting"),
      Overview.Number(
        label: "Running", value: PageFormat.number(sum(\.claimed)), sub: "", style: "", href: "workers"),
      Overview.Number(
        label: "Done", value: PageFormat.number(completed), sub: name, style: "", href: nil),
      Overview.Number(
        label: "Failed attempts", value: PageFormat.number(failed), sub: name,
        style: failed > 0 ? "warn" : "", href: "jobs?state=retrying"),
      Overview.Number(
        label: "Became dead letters", value: PageFormat.number(dead), sub: name,
        style: dead > 0 ? "bad" : "", href: "dead"),
    ]
  }

  // MARK: Servers

  /// Whether both servers answer, and how quickly.
  private func servers() async -> [Overview.Standing] {
    async let postgres = ask("Postgres") { _ = try await pool.query("SELECT 1", timeout: .seconds(1)) }
    async let redis = ask("Redis") { _ = try await self.redis.send(RedisCommand("PING"), timeout: .seconds(1)) }
    return await [redis, postgres]
  }

  private func ask(_ name: String, _ question: () async throws -> Void) async -> Overview.Standing {
    let clock = ContinuousClock()
    let began = clock.now
    do {
      try await question()
      return Overview.Standing(name, "answers", "ok", "in \(PageFormat.duration((clock.now - began) / .seconds(1)))")
    } catch {
      return Overview.Standing(name, "away", "bad", "it does not answer")
    }
  }
}

extension Finding.Status {
  /// The item's class in the style sheet.
  var style: String {
    switch self {
    case .ok: "ok"
    case .warn: "warn"
    case .fail: "bad"
    }
  }
}
