import DurableJobs
import DurableJobsRedis
import Foundation
import HiredisClient
import Logging
import Reactor

/// The doctor's checks of Redis and of the workers registered there.
struct RedisExamination {
  let configuration: RedisConfiguration
  let prefix: String
  let queues: [QueueName]
  let terms: DoctorTerms
  let loop: EventLoop
  let logger: Logger

  func run() async -> [Finding] {
    let client = RedisClient(configuration: configuration, loop: loop, logger: logger)
    return await withTaskGroup(of: Void.self) { group in
      group.addTask { await client.run() }
      let findings = await examine(client)
      group.cancelAll()
      return findings
    }
  }

  private func examine(_ client: RedisClient) async -> [Finding] {
    let facts: ServerFacts
    do throws(BrokerError) {
      facts = try await ServerFacts.ask(client)
    } catch {
      return [
        .fail(
          "Redis", error.message,
          "start it, or correct \(terms.redisURL)" + (terms.restart.map { "; \($0)" } ?? ""))
      ]
    }
    var findings = [version(facts), eviction(facts), memory(facts)]
    do {
      findings.append(try await disk(client, facts))
      findings += RedisTopologyExamination(
        topology: try await client.topology(), configured: configuration.topology, terms: terms
      ).run()
      findings.append(try await clock(client))
      if !findings.contains(where: { $0.status == .fail }) { findings += try await workers(client) }
    } catch {
      findings.append(.fail("Redis", "a query failed: \(error)", "check the server's log"))
    }
    return findings
  }

  private func version(_ facts: ServerFacts) -> Finding {
    let detail = "Redis \(facts.version), reachable"
    let major = facts.version.split(separator: ".").first.flatMap { Int($0) } ?? 0
    return major >= 7
      ? .ok("Redis", detail) : .fail("Redis", detail, "use Redis 7.0 or later: the queue's scripts need it")
  }

  private func eviction(_ facts: ServerFacts) -> Finding {
    // Some hosts hide the setting. The broker starts all the same, so this is a warning.
    if facts.policy.isEmpty { return .warn("Redis eviction", "unknown", "make sure that it is noeviction") }
    if facts.policy == "noeviction" { return .ok("Redis eviction", "noeviction: no job is dropped to free memory") }
    return .fail(
      "Redis eviction", "maxmemory-policy is \(facts.policy): jobs could be dropped",
      "redis-cli CONFIG SET maxmemory-policy noeviction, and the same in redis.conf")
  }

  private func memory(_ facts: ServerFacts) -> Finding {
    let used = facts.usedMemory / 1_048_576
    guard facts.memoryLimit > 0 else {
      return .ok("Redis memory", "\(used) MiB used, no limit set")
    }
    let share = 100 * facts.usedMemory / facts.memoryLimit
    let detail = "\(used) of \(facts.memoryLimit / 1_048_576) MiB used (\(share) %)"
    if share < 70 { return .ok("Redis memory", detail) }
    return .warn("Redis memory", detail, "raise maxmemory or add workers: from 90 % on new jobs wait in the ledger")
  }

  /// Redis refuses PING as it refuses writes, so the check changes nothing.
  private func disk(_ client: RedisClient, _ facts: ServerFacts) async throws(RedisError) -> Finding {
    do throws(RedisError) {
      _ = try await client.sendToMasters([RedisCommand("PING")])
      return .ok("Redis disk", "no write is refused for lack of space")
    } catch {
      guard error.serverPrefix == "MISCONF" else { throw error }
      return .fail(
        "Redis disk",
        "\(facts.unwritten ?? "something") could not be written: the server refuses all writes (\(error.message))",
        "free space on its disk; the server recovers without a restart, and until then jobs wait in the ledger")
    }
  }

  private func clock(_ client: RedisClient) async throws -> Finding {
    let before = Date()
    let time = try await client.send(RedisCommand("TIME")).elements?.compactMap(\.int) ?? []
    guard time.count == 2 else { return .warn("Redis clock", "unknown", "check the server's log") }
    return Doctor.clock(
      "Redis", Date(timeIntervalSince1970: Double(time[0]) + Double(time[1]) / 1e6), before: before, after: Date())
  }

  private func workers(_ client: RedisClient) async throws -> [Finding] {
    let broker = try await RedisBroker(client: client, prefix: prefix, logger: logger)
    var idle: [String] = []
    var served: [String] = []
    for queue in queues {
      let workers = try await broker.depth(of: queue).workers
      if workers == 0 { idle.append(queue.rawValue) } else { served.append("\(queue) (\(workers))") }
    }
    let detail = served.isEmpty ? "none is running" : "serving \(served.joined(separator: ", "))"
    if idle.isEmpty { return [.ok("workers", detail)] }
    return [
      .warn("workers", "\(detail); no worker serves \(idle.joined(separator: ", "))", "start \(terms.worker)")
    ]
  }
}
