import Locking
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(1))) struct FairGateTests {
  /// Work that waits for the test, as a search waits for Postgres.
  private final class Work: Sendable {
    private struct State {
      var running: [String: CheckedContinuation<Void, Never>] = [:]
      var order: [String] = []
    }
    private let state = Locked(State())

    func run(_ name: String) async {
      await withCheckedContinuation { continuation in
        state.withLock { state in
          state.running[name] = continuation
          state.order.append(name)
        }
      }
    }

    func end(_ name: String) { state.withLock { $0.running.removeValue(forKey: name) }?.resume() }
    var order: [String] { state.withLock { $0.order } }
  }

  @Test func letsSoManyThroughAndAccountsInTurn() async throws {
    let (gate, work) = (FairGate<Int>(width: 2), Work())
    try await withThrowingTaskGroup(of: Void.self) { group in
      func search(_ name: String, by account: Int, thatWaits waiting: Int? = nil) async throws {
        let begun = work.order.count
        group.addTask { try await gate.pass(for: account) { await work.run(name) } }
        if let waiting {
          try await eventually { gate.waiting == waiting }
        } else {
          try await eventually { work.order.count == begun + 1 }
        }
      }
      try await search("a1", by: 1)
      try await search("a2", by: 1)
      try await search("a3", by: 1, thatWaits: 1)
      try await search("a4", by: 1, thatWaits: 2)
      try await search("b1", by: 2, thatWaits: 3)
      #expect(work.order == ["a1", "a2"])
      work.end("a2")
      try await eventually { work.order.count == 3 }
      work.end("a1")
      try await eventually { work.order.count == 4 }
      #expect(work.order == ["a1", "a2", "a3", "b1"])
      for name in ["a3", "b1"] { work.end(name) }
      try await eventually { work.order.count == 5 }
      work.end("a4")
      try await group.waitForAll()
    }
    // All places are free again.
    try await gate.pass(for: 3) {}
    #expect(gate.waiting == 0)
  }

  @Test func ofAClientsStepsThoseOfTheWorkBegunFirstAreNext() async throws {
    let (gate, work) = (FairGate<Int>(width: 1), Work())
    let (older, newer) = (gate.number(), gate.number())
    try await withThrowingTaskGroup(of: Void.self) { group in
      func step(_ name: String, by account: Int, _ number: Int, thatWaits waiting: Int) async throws {
        group.addTask { try await gate.pass(for: account, number: number) { await work.run(name) } }
        try await eventually { gate.waiting == waiting }
      }
      group.addTask { try await gate.pass(for: 1) { await work.run("first") } }
      try await eventually { work.order == ["first"] }
      try await step("newer", by: 1, newer, thatWaits: 1)
      try await step("another's", by: 2, gate.number(), thatWaits: 2)
      try await step("older", by: 1, older, thatWaits: 3)
      for (name, count) in [("first", 2), ("older", 3), ("another's", 4)] {
        work.end(name)
        try await eventually { work.order.count == count }
      }
      work.end("newer")
      try await group.waitForAll()
    }
    #expect(work.order == ["first", "older", "another's", "newer"])
  }

  @Test func whoGivesUpTakesNoPlace() async throws {
    let (gate, work) = (FairGate<Int>(width: 1), Work())
    // Unstructured tasks, all awaited here: one of them is cancelled.
    let first = Task { try await gate.pass(for: 1) { await work.run("first") } }
    try await eventually { work.order == ["first"] }
    let second = Task { try await gate.pass(for: 1) { await work.run("second") } }
    try await eventually { gate.waiting == 1 }
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    let third = Task { try await gate.pass(for: 1) { await work.run("third") } }
    try await eventually { gate.waiting == 1 }
    work.end("first")
    try await first.value
    try await eventually { work.order == ["first", "third"] }
    work.end("third")
    try await third.value
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await gate.pass(for: 1) {}
    }
    try await cancelled.value
    #expect(gate.waiting == 0)
  }
}
