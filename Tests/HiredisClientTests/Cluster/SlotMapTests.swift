import Testing

@testable import HiredisClient

@Suite struct SlotMapTests {
  private typealias Endpoint = RedisConfiguration.Endpoint
  private let asked = Endpoint.tcp(host: "seed", port: 1)

  private func node(_ host: String?, _ port: Int) -> RedisValue {
    let name = host.map { RedisValue.string(Array($0.utf8)) } ?? .null
    return .array([name, .integer(Int64(port)), .string(Array("id".utf8)), .array([])])
  }

  private func range(_ first: Int, _ last: Int, _ nodes: RedisValue...) -> RedisValue {
    .array([.integer(Int64(first)), .integer(Int64(last))] + nodes)
  }

  @Test func knowsWhoHasWhat() throws {
    let map = try SlotMap(
      .array([
        range(0, 99, node("a", 1), node("b", 1)), range(200, 16383, node("c", 1)), range(100, 100, node("a", 1)),
      ]), asked: asked)
    #expect(map[0] == .tcp(host: "a", port: 1) && map[100] == .tcp(host: "a", port: 1))
    #expect(map[101] == nil && map[199] == nil)
    #expect(map[16383] == .tcp(host: "c", port: 1))
    #expect(map.masters.count == 2 && map.replicas == [[.tcp(host: "b", port: 1)], []])
  }

  @Test(arguments: [nil, "", "?"] as [String?])
  func aHostThatANodeDoesNotKnowIsTheOneThatWasAsked(_ host: String?) throws {
    let map = try SlotMap(.array([range(0, 16383, node(host, 7))]), asked: asked)
    #expect(map[5] == .tcp(host: "seed", port: 7))
  }

  @Test func oneSlotCanMove() throws {
    var map = try SlotMap(.array([range(0, 16383, node("a", 1))]), asked: asked)
    map.move(7, to: .tcp(host: "b", port: 2))
    #expect(map[7] == .tcp(host: "b", port: 2) && map[6] == .tcp(host: "a", port: 1))
  }

  @Test func refusesOtherReplies() {
    let strange: [RedisValue] = [
      .null, .array([.null]), .array([range(0, 16384, node("a", 1))]), .array([range(5, 4, node("a", 1))]),
      .array([range(0, 5)]), .array([range(0, 5, .array([.null]))]),
    ]
    for reply in strange {
      #expect(throws: RedisError.self) { try SlotMap(reply, asked: asked) }
    }
  }

  @Test func readsRedirections() {
    func redirect(_ reply: String) -> ClusterRedirect? { ClusterRedirect(RedisError(serverReply: reply), asked: asked) }
    #expect(redirect("MOVED 3999 127.0.0.1:6381") == .moved(slot: 3999, to: .tcp(host: "127.0.0.1", port: 6381)))
    #expect(redirect("MOVED 3999 :6381") == .moved(slot: 3999, to: .tcp(host: "seed", port: 6381)))
    #expect(redirect("MOVED 3999 ::1:6381") == .moved(slot: 3999, to: .tcp(host: "::1", port: 6381)))
    #expect(redirect("ASK 5 node.example:1") == .ask(.tcp(host: "node.example", port: 1)))
    #expect(redirect("TRYAGAIN Multiple keys request during rehashing of slot") == .later)
    #expect(redirect("CLUSTERDOWN The cluster is down") == .later)
    #expect(redirect("LOADING Redis is loading the dataset in memory") == .later)
    #expect(redirect("MOVED x 127.0.0.1:6381") == nil)
    #expect(redirect("MOVED 16384 127.0.0.1:6381") == nil)
    #expect(redirect("MOVED 1 nowhere") == nil)
    #expect(redirect("ERR unknown command") == nil)
    #expect(ClusterRedirect(RedisError(.timeout, "late"), asked: asked) == nil)
  }
}
