import Dispatch
import Locking
import TestSupport
import Testing

@testable import Social

@Suite struct FairQueueTests {
  @Test func clientsTakeTurns() {
    var queue = FairQueue<String, Int>()
    for number in 1...4 { queue.append(number, for: "busy") }
    queue.append(10, for: "one")
    queue.append(20, for: "two")
    #expect(queue.count == 6 && queue.count(of: "busy") == 4 && queue.count(of: "nobody") == 0)
    var order: [Int] = []
    // A returning client has no place reserved.
    while let next = queue.popFirst() {
      order.append(next)
      if next == 10 { queue.append(11, for: "one") }
    }
    #expect(order == [1, 10, 20, 2, 11, 3, 4])
    #expect(queue.count == 0 && queue.count(of: "busy") == 0)
  }

  @Test(.timeLimit(.minutes(2))) func aClientWithManyPasswordsDelaysItselfAlone() async throws {
    let hasher = PasswordHasher(threads: 1, limit: 16, parameters: (logarithm: 4, blockSize: 8, parallelism: 1))
    let ended = Locked<[String]>([])
    let gate = DispatchSemaphore(value: 0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await hasher.run(for: "busy") { gate.wait() } }
      // Waits behind the work on the only thread.
      func wait(_ client: String, _ count: Int) async throws {
        group.addTask { try await hasher.run(for: client) { ended.withLock { $0.append(client) } } }
        try await eventually { hasher.waiting(of: client) == count }
      }
      // The last of its four places is free once the first runs on the thread.
      try await eventually { hasher.waiting(of: "busy") == 0 }
      for count in 1...4 { try await wait("busy", count) }
      do {
        try await hasher.run(for: "busy") {}
        Issue.record("a client has a quarter of the places")
      } catch let error as SocialError {
        #expect(error.code == .busy)
      }
      try await wait("one", 1)
      gate.signal()
      try await group.waitForAll()
    }
    #expect(ended.withLock { $0 } == ["busy", "one", "busy", "busy", "busy"])
  }
}
