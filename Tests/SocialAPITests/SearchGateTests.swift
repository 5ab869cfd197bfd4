import Foundation
import Locking
import Testing
import TestSupport

@testable import Social
@testable import SocialAPI

@Suite(.timeLimit(.minutes(2))) struct SearchGateTests {
  /// Holds a gate's place until it is released.
  private final class Holder: Sendable {
    private let leaving = Locked(CheckedContinuation<Void, Never>?.none)

    func hold<Client>(_ gate: FairGate<Client>, as client: Client) async throws {
      try await gate.pass(for: client) {
        await withCheckedContinuation { continuation in leaving.withLock { $0 = continuation } }
      }
    }

    var holds: Bool { leaving.withLock { $0 != nil } }
    func leave() { leaving.withLock { $0.take() }?.resume() }
  }

  @Test func searchesWaitForTheirTurn() async throws {
    let gate = FairGate<Int>(width: 1)
    try await API.run(searches: gate) { api in
      let token = try await api.open("ann")
      for path in ["users?query=an", "posts?query=an"] {
        let holder = Holder()
        async let held: Void = holder.hold(gate, as: 0)
        try await eventually("the place is taken") { holder.holds }
        async let reply = api.send("GET", "/v1/" + path, as: token)
        try await eventually("\(path) waits") { gate.waiting == 1 }
        holder.leave()
        #expect(try await reply.status == 200, "\(path)")
        try await held
      }
    }
  }
}
