import Foundation
import Hummingbird
import Locking
import Logging

/// Runs actions that take longer than a browser should wait, in the background; pages show their progress.
final class BulkWork: Sendable {
  /// The result of an action.
  enum Outcome: Sendable {
    /// The number of items changed, and of jobs that run and whose workers are told to cancel them.
    case done(Int, ordered: Int = 0)
    case failed(String)
  }

  typealias Body = @Sendable (_ progress: @escaping @Sendable (Int) -> Void) async throws -> Outcome

  private struct Piece: Sendable {
    let id: Int
    let title: String
    let body: Body
    let end: AsyncStream<Outcome>.Continuation
  }

  private struct State {
    var next = 0
    var running: [Int: (title: String, count: Int)] = [:]
    var failures: [(at: Date, what: String)] = []
  }

  /// The age in seconds at which a failure is no longer shown.
  static let lifetime: TimeInterval = 3600

  private let state = Locked(State())
  private let pieces: AsyncStream<Piece>
  private let begin: AsyncStream<Piece>.Continuation
  private let clock: any Clock<Duration>
  private let now: @Sendable () -> Date
  private let logger: Logger

  init(clock: any Clock<Duration>, now: @escaping @Sendable () -> Date, logger: Logger) {
    (pieces, begin) = AsyncStream.makeStream()
    self.clock = clock
    self.now = now
    self.logger = logger
  }

  /// Starts an action.
  ///
  /// - Parameter patience: how long to wait for it to finish.
  /// - Returns: nil if it continues in the background.
  /// - Throws: `DashboardRefusal` of status 503 while the process stops.
  func start(_ title: String, patience: Duration = .seconds(1), _ body: @escaping Body) async throws -> Outcome? {
    let (ends, end) = AsyncStream.makeStream(of: Outcome.self)
    let id = state.withLock { state in
      state.next += 1
      state.running[state.next] = (title, 0)
      return state.next
    }
    if case .terminated = begin.yield(Piece(id: id, title: title, body: body, end: end)) {
      state.withLock { $0.running[id] = nil }
      throw DashboardRefusal(
        .serviceUnavailable, "The server is stopping", "Nothing was changed; try again.", retryAfter: 2)
    }
    return await withTaskGroup(of: Outcome?.self) { [clock] group in
      group.addTask {
        for await outcome in ends { return outcome }
        return nil
      }
      group.addTask {
        // Cancelled if the action finishes first.
        do { try await clock.sleep(for: patience) } catch {}
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }

  /// The running actions and the last hour's failures, in a sentence each.
  var sentences: [String] {
    let now = now()
    return state.withLock { state in
      state.failures.removeAll { now.timeIntervalSince($0.at) > Self.lifetime }
      return state.running.sorted { $0.key < $1.key }.map { "\($1.title): \(PageFormat.number($1.count)) so far." }
        + state.failures.map { "\(PageMoment($0.at, now: now).text) UTC: \($0.what)" }
    }
  }

  /// Runs the started actions until its task is cancelled; each then stops after its current batch.
  func run() async {
    await withDiscardingTaskGroup { group in
      for await piece in pieces { group.addTask { await self.work(piece) } }
      begin.finish()
      group.cancelAll()
    }
  }

  private func work(_ piece: Piece) async {
    let outcome: Outcome
    do {
      outcome = try await piece.body { count in
        self.state.withLock { $0.running[piece.id]?.count = count }
      }
    } catch {
      logger.error("a bulk action ended early", metadata: ["what": "\(piece.title)", "error": "\(error)"])
      outcome = .failed(DashboardRefusal(error)?.message ?? DashboardRefusal.internalError.message)
    }
    state.withLock { state in
      let count = state.running.removeValue(forKey: piece.id)?.count ?? 0
      if case .failed(let message) = outcome {
        let what = "\(piece.title) ended early, after \(PageFormat.number(count)): \(message)"
        state.failures = (state.failures + [(now(), what)]).suffix(3)
      }
    }
    piece.end.yield(outcome)
    piece.end.finish()
  }
}

extension BulkWork.Outcome? {
  /// The notice for the outcome: done, still running, or failed.
  func sentence(_ done: String, in place: String) -> String {
    switch self {
    case .done(let count, let ordered):
      (count == 1 ? "One job of \(place) was" : "\(PageFormat.number(count)) jobs of \(place) were") + " \(done)"
        + Self.sentence(ordered: ordered)
    case .failed(let reason): "It ended early: \(reason)"
    case nil: "It continues in the background; the page of jobs shows its progress."
    }
  }

  private static func sentence(ordered count: Int) -> String {
    switch count {
    case 0: "."
    case 1: "; one is running, and its worker cancels it."
    default: "; \(PageFormat.number(count)) are running, and their workers cancel them."
    }
  }
}
