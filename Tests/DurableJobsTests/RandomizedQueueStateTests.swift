import DurableJobsTesting
import TestSupport
import Testing

@testable import DurableJobs

/// Random events, with invariants checked after each: every claim is in one place or has left, once; and each waiter of
/// the state is woken as soon as it can continue.
@Suite(.timeLimit(.minutes(5))) struct RandomizedQueueStateTests {
  @Test func eachClaimLeavesOnceAndNothingWaitsInVain() {
    var generator = SeededGenerator("RandomizedQueueStateTests")
    for _ in 0..<200 {
      var run = Run(seed: generator.next())
      for _ in 0..<300 {
        run.step()
        run.check()
      }
      run.end()
      run.check()
      #expect(run.inside.isEmpty && run.state.receipts.isEmpty, "seed \(run.seed)")
      #expect(run.left.count == run.claimed, "seed \(run.seed)")
    }
  }
}

/// One queue's state and a model of its surroundings.
private struct Run {
  private static let kinds: [(kind: JobKind, limits: KindLimits)] = [
    ("batch", KindLimits(batch: 3, timeout: .seconds(3), maxAttempts: 5)),
    ("once", KindLimits(maxAttempts: 1)),
    ("single", KindLimits(timeout: .seconds(2), maxAttempts: 5)),
  ]

  private enum Processor {
    case free, waiting, restarting, stopped
    case running(WorkItem)
    case marking(WorkItem)
  }

  let seed: UInt64
  private var generator: SeededGenerator
  var state: QueueState
  private var processors: [Processor]
  private var now = Duration.zero
  private var incarnation = 0
  private var claimerWaits = false
  private var settlerWaits = false
  private var isStopping = false
  /// Claims that are checked with the ledger.
  private var arriving: [Claim]?
  /// Claims being released.
  private var returning: [[Claim]] = []
  private var underWay: [String] = []
  /// The number of claims so far.
  var claimed = 0
  /// The receipts of claims in the state.
  var inside: Set<String> = []
  /// The receipts of claims that have left, and how.
  var left: [String: String] = [:]
  private var ids: [JobID] = []

  init(seed: UInt64) {
    self.seed = seed
    generator = SeededGenerator(seed: seed)
    let concurrency = Int.random(in: 1...4, using: &generator)
    state = QueueState(
      concurrency: concurrency, kinds: KindTable(Self.kinds),
      assumed: Bool.random(using: &generator) ? .milliseconds(1) : nil)
    processors = Array(repeating: .free, count: concurrency)
  }

  // MARK: What must hold

  func check() {
    let receipts = state.receipts
    #expect(receipts.count == Set(receipts).count, "a claim is in two places: seed \(seed)")
    #expect(Set(receipts) == inside, "seed \(seed)")
    // A copy can be queried without changing the original.
    if claimerWaits {
      var copy = state
      #expect(copy.claimTurn() == .wait, "the claimer was not woken: seed \(seed)")
    }
    if settlerWaits {
      var copy = state
      #expect(copy.settleTurn().turn.waits, "the settler was not woken: seed \(seed)")
    }
    for (index, processor) in processors.enumerated() {
      guard case .waiting = processor else { continue }
      var copy = state
      #expect(copy.turn(of: index, at: moment).waits, "processor \(index) was not woken: seed \(seed)")
    }
  }

  private mutating func leave(_ receipts: [String], _ how: String) {
    for receipt in receipts {
      let before = left.updateValue(how, forKey: receipt)
      #expect(before == nil, "\(receipt) left twice, \(before ?? "") and \(how): seed \(seed)")
      #expect(inside.remove(receipt) != nil, "seed \(seed)")
    }
  }

  // MARK: Events

  private var moment: Moment { .after(now) }

  mutating func step() {
    now += .milliseconds(Int.random(in: 0...400, using: &generator))
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<20: claim()
    case 20..<70: process(Int.random(in: 0..<processors.count, using: &generator))
    case 70..<82: settle()
    case 82..<86: answerRelease()
    case 86..<88: act(state.hold(Bool.random(using: &generator) ? .paused : .silence).actions)
    case 88..<93: act(state.lift([.paused, .silence]).actions)
    case 93..<95: act(state.cancel(Set((0..<3).compactMap { _ in ids.randomElement(using: &generator) })))
    case 95..<97: act(state.tick(moment.instant))
    case 97: state.mark(state.unmarked)
    case 98:
      incarnation += 1
      act(state.leaseLost(to: incarnation).actions)
    default: if Int.random(in: 0..<20, using: &generator) == 0 { stop() }
    }
  }

  private mutating func stop() {
    act(state.stop())
    isStopping = true
  }

  private mutating func act(_ actions: [QueueState.Action]) {
    for action in actions {
      switch action {
      case .wakeClaimer: claimerWaits = false
      case .wakeSettler: settlerWaits = false
      case .wake(let index):
        guard case .waiting = processors[index] else {
          Issue.record("processor \(index) does not wait: seed \(seed)")
          continue
        }
        processors[index] = .free
      case .cancel(let index):
        guard case .running = processors[index] else {
          Issue.record("processor \(index) runs nothing: seed \(seed)")
          continue
        }
      case .broker(.release(let claims)): returning.append(claims)
      case .broker: break
      }
    }
  }

  private mutating func claim() {
    if let claims = arriving {
      arriving = nil
      let done = claims.filter { _ in Bool.random(using: &generator) }.map(\.record.id)
      return act(state.claimed(claims, done: Set(done)))
    }
    if claimerWaits { return }
    switch state.claimTurn() {
    case .stop: #expect(isStopping)
    case .wait: claimerWaits = true
    case .claim(let room):
      let claims = (0..<Int.random(in: 0...min(room, 12), using: &generator)).map { _ in newClaim() }
      claimed += claims.count
      inside.formUnion(claims.map(\.receipt))
      if Bool.random(using: &generator) {
        state.received(claims)
        arriving = claims
      } else {
        act(state.claimed(claims))
      }
    }
  }

  private mutating func newClaim() -> Claim {
    let kind = ["batch", "once", "single", "unknown"].randomElement(using: &generator) ?? "single"
    let record = JobRecord.test(kind: JobKind(rawValue: kind), isDurable: Int.random(in: 0..<4, using: &generator) > 0)
    ids.append(record.id)
    return Claim(
      record: record, attempt: Int.random(in: 1...2, using: &generator), receipt: "\(record.id)",
      incarnation: max(0, incarnation - Int.random(in: 0...1, using: &generator)),
      isRedelivered: Int.random(in: 0..<6, using: &generator) == 0)
  }

  private mutating func process(_ index: Int) {
    switch processors[index] {
    case .waiting, .stopped: break
    case .free: turn(index, state.turn(of: index, at: moment))
    case .restarting:
      state.restarted(index)
      turn(index, state.turn(of: index, at: moment))
    case .marking(let item):
      let isAsked = Int.random(in: 0..<5, using: &generator) > 0
      let own = isAsked ? item.claims.filter { _ in Int.random(in: 0..<4, using: &generator) > 0 } : nil
      let receipts = own.map { Set($0.map(\.receipt)) }
      let (next, actions) = state.marked(index, own: receipts, at: moment)
      if let receipts { leave(item.claims.map(\.receipt).filter { !receipts.contains($0) }, "lost") }
      act(actions)
      turn(index, next)
    case .running(let item):
      if Bool.random(using: &generator) { _ = state.returned(index) }
      let outcomes = item.claims.map { _ in newOutcome() }
      act(state.ended(index, item.count == 1 ? .one(outcomes[0]) : .each(outcomes), at: moment))
      turn(index, state.turn(of: index, at: moment))
    }
  }

  private mutating func turn(_ index: Int, _ turn: QueueState.Turn) {
    switch turn {
    case .run(let item): processors[index] = .running(item)
    case .mark(let item): processors[index] = .marking(item)
    case .wait: processors[index] = .waiting
    case .restart: processors[index] = .restarting
    case .stop:
      #expect(isStopping)
      processors[index] = .stopped
    }
  }

  private mutating func newOutcome() -> JobOutcome {
    let failure = JobFailure(attempt: 1, at: .init(unixMilliseconds: 0), error: "no", worker: "w")
    return [
      .acknowledge, .complete, .retry(failure, delay: .seconds(1)), .deadLetter(failure), .park, .cancel, .release,
      .handBack(reason: "busy"),
    ].randomElement(using: &generator) ?? .complete
  }

  private mutating func settle() {
    if settlerWaits { return }
    let (turn, actions) = state.settleTurn()
    leave(underWay, "settled")
    underWay = turn.batch?.map(\.claim.receipt) ?? []
    settlerWaits = turn.waits
    act(actions)
  }

  private mutating func answerRelease() {
    guard !returning.isEmpty else { return }
    let claims = returning.removeFirst()
    if Bool.random(using: &generator) {
      state.released(claims)
      leave(claims.map(\.receipt), "released")
    } else {
      act(state.notReleased(claims))
    }
  }

  /// Stops, and continues until nothing is left to do.
  mutating func end() {
    stop()
    if arriving != nil { claim() }
    func isAtWork(_ processor: Processor) -> Bool { if case .stopped = processor { false } else { true } }
    while processors.contains(where: isAtWork) {
      for index in processors.indices { process(index) }
      check()
    }
    while !returning.isEmpty { answerRelease() }
    act(state.finish())
    #expect(!settlerWaits, "the settler was not woken: seed \(seed)")
    while !state.receipts.isEmpty { settle() }
    #expect(state.settleTurn().turn.stops, "seed \(seed)")
    #expect(state.claimTurn() == .stop, "seed \(seed)")
  }
}
