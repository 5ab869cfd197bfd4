@testable import DurableJobs

extension Moment {
  static let start = Moment(instant: .now, milliseconds: 1_800_000_000_000)

  static func after(_ duration: Duration) -> Moment {
    Moment(instant: start.instant + duration, milliseconds: start.milliseconds + duration.milliseconds)
  }
}

extension QueueState {
  /// - Parameter batchLimits: the size of a batch, for the kinds that run in batches.
  init(concurrency: Int, batchLimits: [JobKind: Int] = [:], assumed: Duration? = nil, holds: Holds = []) {
    self.init(
      concurrency: concurrency, kinds: KindTable(batchLimits.map { ($0, KindLimits(batch: $1)) }), assumed: assumed,
      holds: holds)
  }

  /// Runs the next item in the first processor.
  mutating func runNext(for duration: Duration = .zero) -> [Claim] {
    guard let item = turn(of: 0, at: .start).item else { return [] }
    _ = ended(0, .each(item.claims.map { _ in .complete }), at: .after(duration))
    return item.claims
  }

  /// The number of jobs that may be claimed now.
  var roomNow: Int {
    var state = self
    guard case .claim(let room) = state.claimTurn() else { return 0 }
    return room
  }
}

extension QueueState.Turn {
  var item: WorkItem? { if case .run(let item) = self { item } else { nil } }
  var marked: WorkItem? { if case .mark(let item) = self { item } else { nil } }
  var waits: Bool { if case .wait = self { true } else { false } }
  var restarts: Bool { if case .restart = self { true } else { false } }
  var stops: Bool { if case .stop = self { true } else { false } }
}

extension QueueState.SettleTurn {
  var batch: [EndedClaim]? { if case .settle(let batch) = self { batch } else { nil } }
  var waits: Bool { if case .wait = self { true } else { false } }
  var stops: Bool { if case .stop = self { true } else { false } }
}

extension [QueueState.Action] {
  var wakesClaimer: Bool { contains { if case .wakeClaimer = $0 { true } else { false } } }
  var wakesSettler: Bool { contains { if case .wakeSettler = $0 { true } else { false } } }
  var wakesClaim: Bool { contains { if case .broker(.wakeClaim) = $0 { true } else { false } } }
  var stopsClaiming: Bool { contains { if case .broker(.stopClaiming) = $0 { true } else { false } } }
  /// Processors that are woken.
  var woken: [Int] { compactMap { if case .wake(let processor) = $0 { processor } else { nil } } }
  /// Processors whose tasks are cancelled.
  var cancelled: [Int] { compactMap { if case .cancel(let processor) = $0 { processor } else { nil } } }
  /// The receipts of claims that are released.
  var released: [String] {
    flatMap { if case .broker(.release(let claims)) = $0 { claims.map(\.receipt) } else { [String]() } }
  }
}
