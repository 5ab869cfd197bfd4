import Foundation
import Locking
import Testing
import TestSupport

@testable import Social
@testable import SocialAPI

@Suite(.timeLimit(.minutes(2))) struct ReadGateTests {
  /// Takes a gate's place until it is told to leave.
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

  private func expectTurn<Client>(
    _ paths: [String], _ gate: FairGate<Client>, as client: Client, _ gates: ReadGates
  ) async throws {
    try await API.run(gates: gates) { api in
      let token = try await api.open("ann")
      for path in paths {
        let holder = Holder()
        async let held: Void = holder.hold(gate, as: client)
        try await eventually("the place is taken") { holder.holds }
        async let reply = api.send("GET", "/v1/" + path, as: token)
        try await eventually("\(path) waits") { gate.waiting == 1 }
        holder.leave()
        #expect(try await reply.status == 200, "\(path)")
        try await held
      }
    }
  }

  @Test func searchesWaitForTheirTurn() async throws {
    let gates = ReadGates(width: 1)
    try await expectTurn(["users?query=an", "posts?query=an"], gates.searches, as: 0, gates)
  }

  @Test func feedsWaitForTheirTurn() async throws {
    let gates = ReadGates(width: 1)
    try await expectTurn(["feed/home", "feed/following"], gates.feeds, as: SessionToken(), gates)
  }
}
