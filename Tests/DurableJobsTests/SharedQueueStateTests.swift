import DurableJobsTesting
import TestSupport
import Testing

@testable import DurableJobs

/// The lock and the waits around a queue's state.
@Suite(.timeLimit(.minutes(5))) struct SharedQueueStateTests {
  private func claims(_ numbers: Range<Int>) -> [Claim] {
    numbers.map { Claim(record: .test("\($0)"), attempt: 1, receipt: "\($0)", incarnation: 0) }
  }

  /// A processor's turns until one is more than a wait.
  private func turn(of processor: Int, _ state: SharedQueueState) async -> QueueState.Turn {
    while true {
      let turn = state.turn(of: processor, at: SystemWallClock().moment)
      if !turn.waits { return turn }
      await state.wait(processor)
    }
  }

  @Test func processorsThatWaitGetWhatComes() async {
    let state = SharedQueueState(QueueState(concurrency: 4))
    await withTaskGroup(of: String?.self) { group in
      for processor in 0..<4 {
        group.addTask { await turn(of: processor, state).item?.claims.first?.record.text }
      }
      for claim in claims(0..<3) {
        await Task.yield()
        state.update { $0.claimed([claim]) }
      }
      var texts: [String] = []
      for _ in 0..<3 { if let text = await group.next() ?? nil { texts.append(text) } }
      #expect(texts.sorted() == ["0", "1", "2"])
      state.update { $0.stop() }
      #expect(await group.next() == .some(nil))
    }
  }

  @Test func theClaimerWaitsForRoomAndTheSettlerForWhatEnds() async {
    let state = SharedQueueState(QueueState(concurrency: 2))
    state.update { $0.claimed(claims(0..<2)) }
    for processor in 0..<2 { #expect(state.turn(of: processor, at: SystemWallClock().moment).item != nil) }
    async let room = state.room()
    async let batch = state.unsettled()
    for _ in 0..<100 { await Task.yield() }
    #expect(state.ended(1, .one(.complete), at: SystemWallClock().moment).waits)
    #expect(await room.map { $0 >= 1 } == true)
    #expect(await batch?.map(\.claim.receipt) == ["1"])
    state.update { $0.stop() }
    #expect(await state.room() == nil)
    _ = state.ended(0, .one(.complete), at: SystemWallClock().moment)
    state.update { $0.finish() }
    #expect(await state.unsettled()?.map(\.claim.receipt) == ["0"])
    #expect(await state.unsettled()?.count == nil)
  }

  @Test func ordersReachTheBrokerInTheirOrder() async {
    let state = SharedQueueState(QueueState(concurrency: 1))
    state.update { $0.claimed(claims(0..<2)) }
    #expect(state.update { $0.hold(.paused) })
    state.update { $0.stop() }
    var orders: [String] = []
    for await order in state.orders {
      switch order {
      case .wakeClaim: orders.append("wake")
      case .stopClaiming: orders.append("stop")
      case .release(let claims): orders.append("release \(claims.count)")
      }
      if orders.count == 3 { break }
    }
    #expect(orders == ["wake", "release 2", "stop"])
  }

  @Test func aProcessorsFirstJobKeepsItsTimeLimit() async {
    // The race is between a task's first steps and the processor's setup: many processors, many tries.
    for _ in 0..<50 {
      let count = 8
      let kinds = KindTable([("test.job", KindLimits(timeout: .zero))])
      let state = SharedQueueState(QueueState(concurrency: count, kinds: kinds))
      state.update { $0.claimed(claims(0..<count)) }
      await withTaskGroup(of: Void.self) { group in
        for processor in 0..<count {
          group.addTask {
            await state.run(processor) {
              guard state.turn(of: processor, at: SystemWallClock().moment).item != nil else { return true }
              // Only the limit ends it.
              while !Task.isCancelled { await Task.yield() }
              return !state.ended(processor, .one(.release), at: SystemWallClock().moment).restarts
            }
          }
        }
        group.addTask {
          while !Task.isCancelled {
            state.update { $0.tick(.now) }
            await Task.yield()
          }
        }
        for _ in 0..<count { await group.next() }
        group.cancelAll()
      }
    }
  }
}
