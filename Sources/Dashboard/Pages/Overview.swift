import DurableJobsAdmin
import Foundation
import HiredisClient
import LibPQClient
import Locking

/// The overview's parts, as they stand now.
struct Overview: Sendable {
  struct Attention: Sendable {
    let name: String
    let mark: String
    let style: String
    let detail: String
    let hasAdvice: Bool
    let advice: [Words]
    let href: String?

    init(_ name: String, _ mark: String, _ style: String, _ detail: String, advice: String?, href: String?) {
      self.name = name
      self.mark = mark
      self.style = style
      self.detail = detail
      self.href = href
      hasAdvice = advice != nil
      self.advice = Words.all(in: advice ?? "")
    }
  }

  /// A part of a sentence: what stands between backquotes is to be typed.
  struct Words: Sendable {
    let text: String
    let isCode: Bool

    static func all(in sentence: String) -> [Words] {
      sentence.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { index, part in
        Words(text: String(part), isCode: !index.isMultiple(of: 2))
      }
    }
  }

  struct Number: Sendable {
    let label: String
    let value: String
    let sub: String
    let style: String
    let href: String?
  }

  struct Queue: Sendable {
    let name: String
    let isPaused: Bool
    let isUnserved: Bool
    let ready: String
    let running: String
    let oldestWaiting: String
    let oldestRunning: String
    let meanWait: String
    let meanRun: String
  }

  /// Something that has a state: a worker, a server, a check.
  struct Standing: Sendable {
    let name: String
    let state: String
    let mark: String
    let style: String
    let detail: String
    let running: String

    init(_ name: String, _ state: String, _ style: String, _ detail: String) {
      (self.name, self.state, mark, self.style, self.detail, running) = (name, state, state, style, detail, detail)
    }
  }

  let window: String
  let verdict: String
  let verdictStyle: String
  let hasAttention: Bool
  let attention: [Attention]
  let numbers: [Number]
  let windows: [Figures.Tab]
  let charts: [Chart]
  let queues: [Queue]
  let hasWorkers: Bool
  let workers: [Standing]
  let moreWorkers: String?
  let servers: [Standing]
  let checks: [Standing]
  let checkedAt: String?
}

/// Puts the overview together.
struct OverviewDesk: Sendable {
  let queues: QueueAdmin
  let workers: WorkerAdmin
  let figures: Figures
  let health: HealthBoard
  let alarms: AlarmBook
  let pool: PostgresPool
  let redis: RedisClient
  let now: @Sendable () -> Date

  /// So many workers are listed.
  private static let shown = 12

  func look(_ window: Statistics.Window) async throws -> Overview {
    async let queueList = queues.list()
    async let workerList = workers.list()
    async let sums = figures.sums(window)
    async let charts = figures.charts(window)
    async let alarmList = alarms.open()
    async let servers = servers()
    let look = health.latest()
    let attention = Self.attention(look, try await alarmList, try await queueList, try await workerList)
    let (verdict, style) = Self.verdict(attention, isLooked: look != nil)
    let (all, means) = (try await queueList, try await sums)
    let standing = try await workerList.map { worker in
      Overview.Standing(
        worker.name, worker.state.rawValue, worker.state.style,
        worker.running.isEmpty ? "idle" : "\(worker.running.count) running")
    }
    return try await Overview(
      window: window.rawValue, verdict: verdict, verdictStyle: style, hasAttention: !attention.isEmpty,
      attention: attention, numbers: Self.numbers(all, means, window), windows: Figures.tabs(window, at: "/admin"),
      charts: charts,
      queues: all.map { queue in
        let row = QueuePages.Row(queue)
        let mean = means[queue.queue]
        return Overview.Queue(
          name: row.name, isPaused: row.isPaused, isUnserved: row.isUnserved, ready: row.ready, running: row.running,
          oldestWaiting: row.oldestWaiting, oldestRunning: row.oldestRunning,
          meanWait: Format.duration(mean?.meanWait), meanRun: Format.duration(mean?.meanRun))
      },
      hasWorkers: !standing.isEmpty, workers: Array(standing.prefix(Self.shown)),
      moreWorkers: standing.count > Self.shown ? "and \(standing.count - Self.shown) more" : nil, servers: servers,
      checks: (look?.findings ?? []).map { finding in
        Overview.Standing(finding.name, finding.status.rawValue, finding.status.style, finding.detail)
      }, checkedAt: look.map { String(Moment($0.at, now: now()).text.dropFirst(11)) })
  }

  // MARK: What needs attention

  static func attention(
    _ look: HealthBoard.Look?, _ alarms: [Alarm], _ queues: [QueueSummary], _ workers: [WorkerSummary]
  ) -> [Overview.Attention] {
    // Of these the page has newer figures of its own.
    let seen: Set = ["paused queues", "lost workers"]
    let findings = (look?.findings ?? []).filter { $0.status != .ok && !seen.contains($0.name) }.sorted {
      $0.status > $1.status
    }
    var attention = findings.map { finding in
      Overview.Attention(
        finding.name, finding.status == .fail ? "broken" : "warning", finding.status.style, finding.detail,
        advice: finding.advice, href: href(of: finding.name))
    }
    attention += alarms.map { alarm in
      Overview.Attention(
        alarm.queue, "alarm", "bad",
        "its oldest \(alarm.concern.rawValue) job passed its limit of \(Format.duration(alarm.limit))",
        advice: "since \(Moment(alarm.openedAt, now: alarm.openedAt).text) UTC",
        href: "/admin/queues/" + Link.escape(alarm.queue))
    }
    let lost = workers.filter { $0.state == .lost }
    if !lost.isEmpty {
      attention.append(
        Overview.Attention(
          "workers", "warning", "warn",
          "\(lost.map(\.name).joined(separator: ", ")) said nothing lately and did not leave",
          advice: "what it held is given to others when its leases end; start another worker", href: "/admin/workers"))
    }
    let paused = queues.filter(\.isPaused).map(\.queue)
    if !paused.isEmpty {
      attention.append(
        Overview.Attention(
          "paused", "warning", "warn", paused.joined(separator: ", "),
          advice: "nobody claims from \(paused.count == 1 ? "it" : "them") until it is resumed", href: "/admin/queues"))
    }
    return attention
  }

  private static func href(of finding: String) -> String? {
    switch finding {
    case "dead letters": "/admin/dead"
    case "parked jobs": "/admin/jobs?state=parked"
    case "workers": "/admin/workers"
    case "schedules": "/admin/schedules"
    case let name where name.hasPrefix("YouTube"): "/admin/quota"
    default: nil
    }
  }

  static func verdict(_ attention: [Overview.Attention], isLooked: Bool) -> (String, String) {
    let broken = attention.count { $0.style == "bad" }
    if broken > 0 { return (broken == 1 ? "Something is wrong" : "\(broken) things are wrong", "bad") }
    switch attention.count {
    case 0: return isLooked ? ("All is well", "ok") : ("Looking…", "warn")
    case 1: return ("One thing needs attention", "warn")
    case let count: return ("\(count) things need attention", "warn")
    }
  }

  // MARK: Numbers

  private static func numbers(
    _ queues: [QueueSummary], _ sums: [String: Figures.Sum], _ window: Statistics.Window
  ) -> [Overview.Number] {
    let sum = { (number: (QueueSummary) -> Int) in queues.reduce(0) { $0 + number($1) } }
    let ended = { (number: (Figures.Sum) -> Int) in sums.values.reduce(0) { $0 + number($1) } }
    let (completed, failed, dead) = (ended(\.completed), ended(\.failed), ended(\.dead))
    let oldest = queues.compactMap(\.oldestWaiting).max()
    let name = "last \(window.rawValue)"
    return [
      Overview.Number(
        label: "Waiting", value: Format.number(sum(\.ready)),
        sub: oldest.map { "longest for \(Format.duration($0))" } ?? "", style: "", href: "/admin/jobs?state=waiting"),
      Overview.Number(
        label: "Running", value: Format.number(sum(\.claimed)), sub: "", style: "", href: "/admin/workers"),
      Overview.Number(
        label: "Done", value: Format.number(completed), sub: name, style: "", href: nil),
      Overview.Number(
        label: "Failed attempts", value: Format.number(failed), sub: name,
        style: failed > 0 ? "warn" : "", href: "/admin/jobs?state=retrying"),
      Overview.Number(
        label: "Became dead letters", value: Format.number(dead), sub: name,
        style: dead > 0 ? "bad" : "", href: "/admin/dead"),
    ]
  }

  // MARK: Servers

  /// Whether both answer, and how quickly.
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
      return Overview.Standing(name, "answers", "ok", "in \(Format.duration((clock.now - began) / .seconds(1)))")
    } catch {
      return Overview.Standing(name, "away", "bad", "it does not answer")
    }
  }
}

extension Finding.Status {
  /// The style sheet's class for it.
  var style: String {
    switch self {
    case .ok: "ok"
    case .warn: "warn"
    case .fail: "bad"
    }
  }
}
