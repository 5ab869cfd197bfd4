import DurableJobsTesting
import TestSupport
import Testing

@testable import DurableJobs

@Suite(.timeLimit(.minutes(5))) struct ClaimBufferTests {
  private func claims(_ count: Int, kind: JobKind = "single", incarnation: Int = 0) -> [Claim] {
    (0..<count).map {
      Claim(record: .test("\($0)", kind: kind), attempt: 1, receipt: "\($0)", incarnation: incarnation)
    }
  }

  @Test func singlesComeInTheirOrder() async {
    let buffer = ClaimBuffer(slots: 2, batchLimits: [:])
    buffer.add(claims(3))
    for text in ["0", "1", "2"] {
      let item = await buffer.next()
      #expect(item?.claims.map(\.record.text) == [text])
    }
  }

  /// A claim that is in none of a worker's places counts as never received, and goes to another worker.
  @Test(arguments: [true, false]) func aTakenItemIsHeldUntilItIsFinished(waits: Bool) async throws {
    let buffer = ClaimBuffer(slots: 2, batchLimits: [:])
    if waits {
      async let item = buffer.next(for: 1)
      // Whether the slot waits by now or comes later, it gets the claim.
      buffer.add(claims(1))
      #expect(await item?.count == 1)
    } else {
      buffer.add(claims(1))
      #expect(await buffer.next(for: 1)?.count == 1)
    }
    #expect(buffer.receipts == ["0"])
    buffer.finished(1, seconds: 1, by: 1)
    #expect(buffer.receipts.isEmpty)
  }

  @Test func aBatchTakesWhatThereIsUpToItsLimit() async {
    let buffer = ClaimBuffer(slots: 2, batchLimits: ["many": 4])
    buffer.add(claims(3, kind: "many") + claims(1) + claims(3, kind: "many"))
    var items: [[String]] = []
    for _ in 0..<3 { items.append(await buffer.next()?.claims.map { "\($0.record.kind) \($0.record.text)" } ?? []) }
    // What a full batch leaves over waits its turn behind the others.
    #expect(items == [["many 0", "many 1", "many 2", "many 0"], ["single 0"], ["many 1", "many 2"]])
  }

  @Test func whoWaitsGetsWhatIsAdded() async {
    let buffer = ClaimBuffer(slots: 4, batchLimits: [:])
    await withTaskGroup(of: String?.self) { group in
      for _ in 0..<4 { group.addTask { await buffer.next()?.claims.first?.record.text } }
      for claim in claims(3) {
        await Task.yield()
        buffer.add([claim])
      }
      var texts: [String] = []
      for _ in 0..<3 { if let text = await group.next() ?? nil { texts.append(text) } }
      #expect(texts.sorted() == ["0", "1", "2"])
      #expect(buffer.close().isEmpty)
      #expect(await group.next() == .some(nil))
    }
  }

  @Test func aBatchOfBytesLeavesNoRoom() async throws {
    let buffer = ClaimBuffer(slots: 4, batchLimits: [:])
    let large = JobRecord.test(String(repeating: "x", count: PayloadLimit.batch))
    buffer.add([Claim(record: large, attempt: 1, receipt: "0", incarnation: 0)])
    async let room = buffer.room()
    try await eventually("the claimer waits") { buffer.isFull }
    #expect(await buffer.next()?.count == 1)
    buffer.finished(1, seconds: 5)
    #expect(await room == 4)
  }

  @Test func slowJobsAreNotClaimedAheadOfTheSlots() async {
    let buffer = ClaimBuffer(slots: 4, batchLimits: [:])
    #expect(await buffer.room() == 4)
    buffer.add(claims(4))
    for _ in 0..<4 { _ = await buffer.next() }
    for _ in 0..<3 { buffer.finished(1, seconds: 5) }
    // One still runs.
    #expect(await buffer.room() == 3)
    buffer.add(claims(3))
    async let room = buffer.room()
    _ = await buffer.next()
    buffer.finished(1, seconds: 5)
    #expect(await room == 1)
  }

  /// The first jobs may be slow ones, which would keep those behind them from idle workers.
  @Test func nothingIsClaimedAheadBeforeAJobHasEnded() async {
    let buffer = ClaimBuffer(slots: 4, batchLimits: [:])
    #expect(await buffer.room() == 4)
    buffer.add(claims(4))
    for _ in 0..<4 { _ = await buffer.next() }
    async let room = buffer.room()
    buffer.finished(1, seconds: 0.000_01)
    #expect(await room > 1, "now it is known that they are fast")
    let assuming = ClaimBuffer(slots: 4, batchLimits: [:], assumed: .milliseconds(10))
    #expect(await assuming.room() == 8)
  }

  @Test func fastJobsAreClaimedFarAhead() async {
    let buffer = ClaimBuffer(slots: 4, batchLimits: [:])
    for _ in 0..<100 {
      buffer.add(claims(1))
      _ = await buffer.next()
      buffer.finished(1, seconds: 0.000_01)
    }
    #expect(await buffer.room() == 1004)
  }

  /// A kind that runs in batches somewhere makes no worker hoard slow jobs that idle workers could run.
  @Test func roomForBatchesIsMadeOnlyWhereTheyCome() async {
    let buffer = ClaimBuffer(slots: 2, batchLimits: ["many": 500])
    #expect(await buffer.room() <= 4)
    buffer.add(claims(2))
    for _ in 0..<2 { _ = await buffer.next() }
    for _ in 0..<2 { buffer.finished(1, seconds: 1) }
    #expect(await buffer.room() <= 4)
    var most = 0
    for _ in 0..<20 {
      let room = await buffer.room()
      most = max(most, room)
      buffer.add(claims(room, kind: "many"))
      _ = buffer.drop(olderThan: 1)
    }
    #expect(most >= 1000)
  }

  @Test func earlierLivesAreDroppedAndOthersStayInOrder() async {
    let buffer = ClaimBuffer(slots: 2, batchLimits: ["many": 4])
    buffer.add(
      claims(2, kind: "many") + claims(2, kind: "many", incarnation: 1) + claims(2, incarnation: 1) + claims(1))
    #expect(buffer.drop(olderThan: 1).count == 3)
    #expect(await buffer.next()?.claims.map(\.incarnation) == [1, 1])
    #expect(await buffer.next()?.claims.map(\.record.text) == ["0"])
    #expect(await buffer.next()?.claims.map(\.record.text) == ["1"])
    #expect(buffer.drop(olderThan: 9).isEmpty)
  }

  @Test func closingEndsEveryWaitAndReturnsTheRest() async {
    let buffer = ClaimBuffer(slots: 1, batchLimits: ["many": 4])
    buffer.add(claims(3) + claims(3, kind: "many"))
    async let room = buffer.room()
    #expect(buffer.close().count == 6)
    #expect(await room == 0)
    #expect(await buffer.next()?.count == nil)
    // What arrives late begins no more; a second close returns it.
    buffer.add(claims(2))
    #expect(await buffer.next()?.count == nil)
    #expect(buffer.close().count == 2)
    #expect(await buffer.room() == 0)
  }
}
