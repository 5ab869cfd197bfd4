import DurableJobs
import HiredisClient
import Locking

/// The properties of a Redis server that decide whether jobs are safe there.
public struct ServerFacts: Sendable {
  /// The server's name, for messages.
  public var server = ""
  public var version = ""
  public var policy = ""
  public var usedMemory = 0
  /// 0 for no limit.
  public var memoryLimit = 0
  /// The last failed write to the server's disk; nil if there is none. The server's settings decide whether it then
  /// refuses commands.
  public var unwritten: String?

  /// The facts of all servers combined: the oldest version, an unsafe policy if any server has one, the memory of the
  /// fullest server, any failed write.
  ///
  /// - Throws: `BrokerError`.
  public static func ask(_ client: RedisClient) async throws(BrokerError) -> ServerFacts {
    try await ask(client, ["server", "memory", "persistence"])
  }

  /// - Parameter sections: sections of `INFO`; facts outside of these stay empty.
  static func ask(_ client: RedisClient, _ sections: [String]) async throws(BrokerError) -> ServerFacts {
    do throws(RedisError) {
      // A command per section: the form with several came with 7.0, and an older server must be reported clearly.
      return worst(
        try await client.sendToMasters(sections.map { RedisCommand("INFO", $0) })
          .map { server, replies in ServerFacts(server, replies.compactMap(\.text).joined()) })
    } catch {
      throw RedisBroker.error(error)
    }
  }

  static func worst(_ all: [ServerFacts]) -> ServerFacts {
    guard var worst = all.first else { return ServerFacts() }
    for facts in all.dropFirst() {
      if facts.major < worst.major { worst.version = facts.version }
      if worst.policy == "noeviction" { worst.policy = facts.policy }
      worst.unwritten = worst.unwritten ?? facts.unwritten
      if facts.fullness > worst.fullness {
        (worst.usedMemory, worst.memoryLimit) = (facts.usedMemory, facts.memoryLimit)
      }
      if worst.problem == nil || facts.problem != nil { worst.server = facts.server }
    }
    return worst
  }

  private var major: Int { version.split(separator: ".").first.flatMap { Int($0) } ?? 0 }
  private var fullness: Double { memoryLimit > 0 ? Double(usedMemory) / Double(memoryLimit) : 0 }

  init() {}

  private init(_ server: String, _ text: String) {
    self.server = server
    for line in text.split(whereSeparator: \.isNewline) {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      switch parts[0] {
      case "redis_version": version = String(parts[1])
      case "maxmemory_policy": policy = String(parts[1])
      case "used_memory": usedMemory = Int(parts[1]) ?? 0
      case "maxmemory": memoryLimit = Int(parts[1]) ?? 0
      case "aof_last_write_status" where parts[1] != "ok": unwritten = "the append-only file of \(server)"
      case "rdb_last_bgsave_status" where parts[1] != "ok": unwritten = unwritten ?? "the snapshot of \(server)"
      default: continue
      }
    }
  }

  private var place: String { server.isEmpty ? "Redis" : "Redis at \(server)" }

  /// Why jobs are not safe on this server, with the remedy; nil if they are safe.
  public var problem: String? {
    if !version.isEmpty, major < 7 {
      return "\(place) is version \(version); the queue's scripts need 7.0 or later"
    }
    if !policy.isEmpty, policy != "noeviction" {
      return """
        \(place) may evict jobs: its maxmemory-policy is '\(policy)'; run 'redis-cli CONFIG SET maxmemory-policy \
        noeviction' and set it in redis.conf
        """
    }
    return nil
  }
}

/// How full Redis was at the last check, at most a second ago.
final class MemoryPressure: Sendable {
  private struct State {
    var facts = ServerFacts()
    var checked: ContinuousClock.Instant?
  }

  private let state = Locked(State())
  private let highWater = 0.9

  func note(_ facts: ServerFacts) {
    let now = ContinuousClock.now
    state.withLock { $0 = State(facts: facts, checked: now) }
  }

  /// Whether the caller should check again. True for one caller a second.
  func isDueForCheck() -> Bool {
    let now = ContinuousClock.now
    return state.withLock { state in
      // Without a limit, only a newly set limit needs to be noticed.
      let age = Duration.seconds(state.facts.memoryLimit > 0 ? 1 : 10)
      if let checked = state.checked, now - checked < age { return false }
      state.checked = now
      return true
    }
  }

  var refusal: String? {
    state.withLock { state in
      let (used, limit) = (state.facts.usedMemory, state.facts.memoryLimit)
      guard limit > 0, Double(used) > highWater * Double(limit) else { return nil }
      return "Redis uses \(used) of its \(limit) bytes (maxmemory); new jobs are refused from 90 % on"
    }
  }
}
