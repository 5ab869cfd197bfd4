import DurableJobsTesting
import TestSupport
import Testing

@testable import DurableJobs

@Suite struct QueueStateTests {
  private func claims(_ count: Int, kind: JobKind = "single", incarnation: Int = 0) -> [Claim] {
    (0..<count).map {
      Claim(record: .test("\($0)", kind: kind), attempt: 1, receipt: "\(kind) \($0)", incarnation: incarnation)
    }
  }

  // MARK: Order

  @Test func singlesComeInTheirOrder() {
    var state = QueueState(concurrency: 2)
    _ = state.claimed(claims(3))
    for text in ["0", "1", "2"] { #expect(state.runNext().map(\.record.text) == [text]) }
  }

  /// A claim that a worker does not hold anywhere counts as never received, and goes to another worker.
  @Test(arguments: [true, false]) func aTakenItemIsHeldUntilItIsSettled(waits: Bool) {
    var state = QueueState(concurrency: 2)
    if waits {
      #expect(state.turn(of: 1, at: .start).waits)
      #expect(state.claimed(claims(1)).woken == [1])
    } else {
      #expect(state.claimed(claims(1)).woken.isEmpty)
    }
    #expect(state.receipts == ["single 0"])
    #expect(state.turn(of: 1, at: .start).item?.count == 1)
    #expect(state.receipts == ["single 0"])
    _ = state.ended(1, .one(.acknowledge), at: .after(.seconds(1)))
    #expect(state.receipts == ["single 0"])
    #expect(state.settleTurn().turn.batch?.count == 1)
    #expect(state.receipts == ["single 0"], "its settlement is under way")
    #expect(state.settleTurn().turn.waits)
    #expect(state.receipts.isEmpty)
  }

  @Test func aBatchTakesWhatThereIsUpToItsLimit() {
    var state = QueueState(concurrency: 2, batchLimits: ["many": 4])
    _ = state.claimed(claims(3, kind: "many") + claims(1) + claims(3, kind: "many"))
    let items = (0..<3).map { _ in state.runNext().map { "\($0.record.kind) \($0.record.text)" } }
    // The rest of a full batch waits its turn behind the others.
    #expect(items == [["many 0", "many 1", "many 2", "many 0"], ["single 0"], ["many 1", "many 2"]])
  }

  @Test func processorsThatWaitGetWhatComesInTheirOrder() {
    var state = QueueState(concurrency: 4)
    for processor in [2, 0, 3, 1] { #expect(state.turn(of: processor, at: .start).waits) }
    #expect(state.claimed(claims(3)).woken == [2, 0, 3])
    for (processor, text) in [(2, "0"), (0, "1"), (3, "2")] {
      #expect(state.turn(of: processor, at: .start).item?.claims.map(\.record.text) == [text])
    }
    #expect(state.stop().woken == [1])
    #expect(state.turn(of: 1, at: .start).stops)
  }

  @Test func earlierLivesAreDroppedAndOthersStayInOrder() {
    var state = QueueState(concurrency: 2, batchLimits: ["many": 4])
    _ = state.claimed(
      claims(2, kind: "many") + claims(2, kind: "many", incarnation: 1) + claims(2, incarnation: 1) + claims(1))
    let (lost, actions) = state.leaseLost(to: 1)
    #expect(lost == 3 && actions.released.count == 3)
    #expect(state.runNext().map(\.incarnation) == [1, 1])
    #expect(state.runNext().map(\.record.text) == ["0"])
    #expect(state.runNext().map(\.record.text) == ["1"])
    #expect(state.leaseLost(to: 9).lost == 0)
  }

  @Test func whatTheLeaseEndedForWhileTheLedgerWasAskedGoesBack() {
    var state = QueueState(concurrency: 2)
    let (former, own) = (claims(2), claims(1, incarnation: 1))
    state.received(former + own)
    #expect(state.leaseLost(to: 1).lost == 0)
    #expect(state.claimed(former + own).released == former.map(\.receipt))
    #expect(state.runNext().map(\.receipt) == own.map(\.receipt) && state.runNext().isEmpty)
  }

  // MARK: Room

  @Test func aBatchOfBytesLeavesNoRoom() {
    var state = QueueState(concurrency: 4)
    let large = JobRecord.test(String(repeating: "x", count: PayloadLimit.batch))
    _ = state.claimed([Claim(record: large, attempt: 1, receipt: "0", incarnation: 0)])
    #expect(state.claimTurn() == .wait)
    #expect(state.turn(of: 0, at: .start).item?.count == 1)
    #expect(state.ended(0, .one(.complete), at: .after(.seconds(5))).wakesClaimer)
    #expect(state.claimTurn() == .claim(4))
  }

  @Test func slowJobsAreNotClaimedAheadOfTheProcessors() {
    var state = QueueState(concurrency: 4)
    #expect(state.claimTurn() == .claim(4))
    _ = state.claimed(claims(4))
    for processor in 0..<4 { _ = state.turn(of: processor, at: .start) }
    for processor in 0..<3 { _ = state.ended(processor, .one(.complete), at: .after(.seconds(5))) }
    // One is still running.
    #expect(state.claimTurn() == .claim(3))
    _ = state.claimed(claims(3))
    #expect(state.claimTurn() == .wait)
    _ = state.turn(of: 0, at: .after(.seconds(5)))
    #expect(state.ended(0, .one(.complete), at: .after(.seconds(10))).wakesClaimer)
    #expect(state.claimTurn() == .claim(1))
  }

  /// The first jobs may be slow, and would keep those behind them from idle workers.
  @Test func nothingIsClaimedAheadBeforeAJobHasEnded() {
    var state = QueueState(concurrency: 4)
    #expect(state.claimTurn() == .claim(4))
    _ = state.claimed(claims(4))
    for processor in 0..<4 { _ = state.turn(of: processor, at: .start) }
    #expect(state.claimTurn() == .wait)
    #expect(state.ended(0, .one(.complete), at: .after(.microseconds(10))).wakesClaimer)
    guard case .claim(let room) = state.claimTurn() else {
      Issue.record("there is no room")
      return
    }
    #expect(room > 1, "now it is known that they are fast")
    var assuming = QueueState(concurrency: 4, assumed: .milliseconds(10))
    #expect(assuming.claimTurn() == .claim(8))
  }

  @Test func fastJobsAreClaimedFarAhead() {
    var state = QueueState(concurrency: 4)
    for _ in 0..<100 {
      _ = state.claimed(claims(1))
      _ = state.runNext(for: .microseconds(10))
    }
    #expect(state.claimTurn() == .claim(1004))
  }

  /// A kind that runs in batches elsewhere must not make a worker hoard slow jobs that idle workers could run.
  @Test func roomForBatchesIsMadeOnlyWhereTheyCome() {
    var state = QueueState(concurrency: 2, batchLimits: ["many": 500])
    #expect(state.roomNow <= 4)
    _ = state.claimed(claims(2))
    for _ in 0..<2 { _ = state.runNext(for: .seconds(1)) }
    #expect(state.roomNow <= 4)
    var most = 0
    for life in 0..<20 {
      let room = state.roomNow
      most = max(most, room)
      _ = state.claimed(claims(room, kind: "many", incarnation: life))
      _ = state.leaseLost(to: life + 1)
    }
    #expect(most >= 1000)
  }

  @Test func claimsWaitWhileTooMuchIsUnsettled() {
    var state = QueueState(concurrency: 2)
    for _ in 0..<5 {
      _ = state.claimed(claims(1000))
      for _ in 0..<1000 { _ = state.runNext(for: .microseconds(10)) }
    }
    #expect(state.claimTurn() == .wait)
    let (turn, actions) = state.settleTurn()
    #expect(turn.batch?.count == 5000 && actions.wakesClaimer)
    #expect(state.roomNow > 0)
    for _ in 0..<6 {
      _ = state.claimed(claims(1000))
      for _ in 0..<1000 { _ = state.runNext(for: .microseconds(10)) }
    }
    #expect(state.claimTurn() == .wait)
    #expect(state.stop().wakesClaimer)
    #expect(state.claimTurn() == .stop)
    _ = state.finish()
    #expect(state.settleTurn().turn.batch?.count == 6000)
    #expect(state.settleTurn().turn.stops)
  }

  // MARK: Marks

  private func last(_ receipts: String..., attempt: Int = 1, isRedelivered: Bool = false) -> [Claim] {
    receipts.map {
      Claim(
        record: .test($0, kind: "last"), attempt: attempt, receipt: $0, incarnation: 0, isRedelivered: isRedelivered)
    }
  }

  @Test func whatMayHaveKilledAWorkerIsMarkedBeforeItBegins() {
    var state = QueueState(concurrency: 1, kinds: KindTable([("last", KindLimits(maxAttempts: 3))]))
    _ = state.claimed(last("first") + last("redelivered", isRedelivered: true))
    _ = state.claimed(last("second", attempt: 2) + last("third", attempt: 3))
    #expect(state.runNext().map(\.receipt) == ["first"])
    for receipt in ["redelivered", "second", "third"] {
      #expect(state.turn(of: 0, at: .start).marked?.claims.map(\.receipt) == [receipt])
      #expect(state.unmarked.isEmpty)
      #expect(state.marked(0, own: [receipt], at: .start).turn.item?.claims.map(\.receipt) == [receipt])
      #expect(state.unmarked.isEmpty, "it is marked")
      _ = state.ended(0, .one(.complete), at: .start)
    }
  }

  @Test func whatIsNotTheWorkersAnyMoreIsDroppedAndWhatCannotBeMarkedGoesBack() {
    let kinds = KindTable([("last", KindLimits(batch: 3, maxAttempts: 1))])
    var state = QueueState(concurrency: 1, kinds: kinds)
    _ = state.claimed(last("a", "b", "c"))
    #expect(state.turn(of: 0, at: .start).marked?.count == 3)
    #expect(state.marked(0, own: ["a", "c"], at: .start).turn.item?.claims.map(\.receipt) == ["a", "c"])
    _ = state.ended(0, .each([.complete, .complete]), at: .start)
    #expect(state.settleTurn().turn.batch?.map(\.claim.receipt) == ["a", "c"])
    _ = state.claimed(last("d"))
    #expect(state.turn(of: 0, at: .start).marked?.count == 1)
    #expect(state.marked(0, own: [], at: .start).turn.waits)
    #expect(state.settleTurn().turn.waits)
    _ = state.claimed(last("e"))
    #expect(state.turn(of: 0, at: .start).marked?.count == 1)
    let (turn, actions) = state.marked(0, own: nil, at: .start)
    #expect(turn.waits && actions.wakesSettler)
    let batch = state.settleTurn().turn.batch
    #expect(batch?.map(\.claim.receipt) == ["e"])
    guard case .release? = batch?.first?.outcome else {
      Issue.record("no attempt has begun")
      return
    }
  }

  @Test func aMarkThatComesLateMeetsNoOtherItem() {
    var state = QueueState(concurrency: 1)
    _ = state.claimed(claims(2))
    _ = state.turn(of: 0, at: .start)
    let late = state.unmarked
    #expect(late.map { $0.claims.map(\.receipt) } == [["single 0"]])
    _ = state.ended(0, .one(.complete), at: .start)
    _ = state.turn(of: 0, at: .start)
    state.mark(late)
    #expect(state.unmarked.map { $0.claims.map(\.receipt) } == [["single 1"]])
    state.mark(state.unmarked)
    #expect(state.unmarked.isEmpty)
  }

  // MARK: Cut-offs

  @Test func aHandlerPastItsLimitIsCancelledOnceAndItsProcessorGoesOnInANewTask() {
    var state = QueueState(concurrency: 2, kinds: KindTable([("slow", KindLimits(timeout: .seconds(1)))]))
    _ = state.claimed(claims(3, kind: "slow"))
    _ = state.turn(of: 0, at: .start)
    _ = state.turn(of: 1, at: .after(.milliseconds(500)))
    #expect(state.tick(Moment.after(.milliseconds(999)).instant).isEmpty)
    #expect(state.tick(Moment.after(.seconds(1)).instant).cancelled == [0])
    #expect(state.tick(Moment.after(.seconds(1)).instant).isEmpty)
    guard case .timeLimit? = state.returned(0) else {
      Issue.record("the limit was not said")
      return
    }
    _ = state.ended(0, .one(.handBack(reason: "busy")), at: .after(.seconds(1)))
    #expect(state.turn(of: 0, at: .after(.seconds(1))).restarts)
    state.restarted(0)
    #expect(state.turn(of: 0, at: .after(.seconds(1))).item?.count == 1)
    // A finished handler is no longer cancelled: that would hit the next one.
    #expect(state.returned(1) == nil)
    #expect(state.tick(Moment.after(.seconds(9)).instant).cancelled == [0])
  }

  @Test func cancelledJobsAreCutOffOrNeverBegin() {
    var state = QueueState(concurrency: 2, batchLimits: ["many": 2])
    let many = claims(2, kind: "many")
    let singles = claims(3)
    _ = state.claimed(many + singles)
    for processor in 0..<2 { _ = state.turn(of: processor, at: .start) }
    #expect(state.running.map(\.item.count) == [2, 1])
    #expect(state.settleTurn().turn.waits)
    let actions = state.cancel([many[1].record.id, singles[2].record.id, .next()])
    #expect(actions.cancelled == [0] && actions.wakesSettler)
    #expect(state.settleTurn().turn.batch?.map(\.claim.receipt) == ["single 2"])
    guard case .unwanted(let ids)? = state.returned(0) else {
      Issue.record("it was not said why")
      return
    }
    #expect(ids == [many[1].record.id])
    _ = state.ended(1, .one(.complete), at: .start)
    #expect(state.turn(of: 1, at: .start).item?.claims.map(\.receipt) == ["single 1"])
  }

  // MARK: Holds

  @Test func aHoldGivesBackWhatHasNotBegunAndEndsTheClaimThatWaits() {
    var state = QueueState(concurrency: 1, holds: .unknown)
    #expect(state.claimTurn() == .wait)
    #expect(!state.hold(.silence).actions.wakesClaimer)
    #expect(!state.lift(.unknown).actions.wakesClaimer, "one reason is left")
    let (lifted, actions) = state.lift(.silence)
    #expect(lifted == .silence && actions.wakesClaimer)
    #expect(state.lift(.silence).lifted.isEmpty)
    #expect(state.claimTurn() == .claim(1))
    _ = state.claimed(claims(3))
    _ = state.turn(of: 0, at: .start)
    let paused = state.hold(.paused, insteadOf: .unknown)
    #expect(paused.isNew && paused.actions.wakesClaim && paused.actions.released == ["single 1", "single 2"])
    #expect(state.receipts.sorted() == ["single 0", "single 1", "single 2"], "they are on their way")
    #expect(!state.hold(.paused).isNew && state.hold(.paused).actions.isEmpty)
    // The broker delivered these before it knew of the pause.
    let late = claims(1, kind: "late")
    #expect(state.claimed(late).released == ["late 0"])
    state.released(late)
    #expect(!state.receipts.contains("late 0"))
    #expect(!state.letsLeaseEnd)
    _ = state.hold(.silence)
    #expect(state.letsLeaseEnd)
    _ = state.ended(0, .one(.complete), at: .start)
    #expect(!state.letsLeaseEnd)
  }

  /// They are this worker's for as long as it lives: no other would run them.
  @Test func whatCannotBeHandedBackIsHandedBackLater() {
    var state = QueueState(concurrency: 1)
    let some = claims(2)
    _ = state.claimed(some)
    #expect(state.hold(.paused).actions.released.count == 2)
    #expect(state.settleTurn().turn.waits)
    #expect(state.notReleased(some).wakesSettler)
    let batch = state.settleTurn().turn.batch ?? []
    #expect(batch.count == 2)
    for end in batch {
      guard case .release = end.outcome else {
        Issue.record("\(end.outcome)")
        continue
      }
    }
  }

  @Test func whatIsDoneAlreadyIsAcknowledgedAndDoesNotRun() {
    var state = QueueState(concurrency: 1)
    let some =
      claims(2) + [
        Claim(record: .test("2", isDurable: false), attempt: 1, receipt: "fleeting", incarnation: 0)
      ]
    state.received(some)
    #expect(state.receipts.count == 3)
    #expect(state.settleTurn().turn.waits)
    #expect(state.claimed(some, done: [some[0].record.id, some[2].record.id]).wakesSettler)
    #expect(state.settleTurn().turn.batch?.map(\.claim.receipt) == ["single 0"])
    #expect(state.runNext().map(\.receipt) == ["single 1"])
    #expect(state.runNext().map(\.receipt) == ["fleeting"])
  }

  // MARK: Stop

  @Test func stoppingEndsEveryWaitAndReturnsTheRest() {
    var state = QueueState(concurrency: 1, batchLimits: ["many": 4])
    _ = state.claimed(claims(3) + claims(3, kind: "many"))
    #expect(state.claimTurn() == .wait)
    let actions = state.stop()
    #expect(actions.stopsClaiming && actions.wakesClaimer && actions.released.count == 6)
    #expect(state.claimTurn() == .stop)
    #expect(state.turn(of: 0, at: .start).stops)
    // Late arrivals are not begun.
    #expect(state.claimed(claims(2, kind: "late")).released.count == 2)
    #expect(state.turn(of: 0, at: .start).stops)
    #expect(state.claimTurn() == .stop)
    #expect(state.stop().isEmpty)
  }

  // MARK: Counts

  @Test func attemptsAreCountedByKindAndWhatIsNoneIsNot() {
    var state = QueueState(concurrency: 1, kinds: KindTable([("a", KindLimits()), ("b", KindLimits(batch: 3))]))
    let failure = JobFailure(attempt: 1, at: .init(unixMilliseconds: 0), error: "no", worker: "w")
    let ready = Moment.start.milliseconds - 5
    _ = state.claimed(
      ["a", "b", "b", "b"].enumerated().map { number, kind in
        Claim(
          record: .test(kind: JobKind(rawValue: kind)), attempt: 1, receipt: "\(number)", incarnation: 0,
          readyAt: .init(unixMilliseconds: ready))
      })
    _ = state.turn(of: 0, at: .start)
    _ = state.ended(0, .one(.retry(failure, delay: .seconds(1))), at: .after(.microseconds(7)))
    _ = state.turn(of: 0, at: .start)
    _ = state.ended(0, .each([.complete, .deadLetter(failure), .release]), at: .after(.microseconds(9)))
    let counts = state.takeCounts()
    #expect(counts[0].failed == 1 && counts[0].run == .microseconds(7) && counts[0].wait == .milliseconds(5))
    #expect(counts[1].completed == 1 && counts[1].dead == 1 && counts[1].failed == 0)
    #expect(
      counts[1].run == .microseconds(6) && counts[1].wait == .milliseconds(10), "each took its part of the batch's time"
    )
    #expect(state.takeCounts().allSatisfy { $0.isEmpty })
  }
}
