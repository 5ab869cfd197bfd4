import EventLoop
import Foundation
import Logging
import PrivateServers
import Redis
import Testing

/// Runs `body` with a server of its own and a client that is kept running beside it.
func withRedis(
  _ options: PrivateRedis.Options = .init(), configure: (inout RedisConfiguration) -> Void = { _ in },
  _ body: @Sendable (PrivateRedis, RedisClient) async throws -> Void
) async throws {
  let server = try await PrivateRedis.start(options: options)
  var configuration = try patient(server.url)
  configure(&configuration)
  try await withClient(configuration) { try await body(server, $0) }
  await server.stop()
}

/// A configuration whose limits no slow machine reaches: a test that is about a limit sets it.
func patient(_ url: String) throws(RedisError) -> RedisConfiguration {
  var configuration = try RedisConfiguration(url: url)
  configuration.connectTimeout = .seconds(60)
  configuration.commandTimeout = .seconds(60)
  return configuration
}

/// Runs `body` with a client that is kept running beside it; the server is the caller's.
func withClient(
  _ configuration: RedisConfiguration, _ body: @Sendable (RedisClient) async throws -> Void
) async throws {
  let loop = EventLoop()
  let client = RedisClient(configuration: configuration, loop: loop, logger: quiet)
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { await client.run() }
    do {
      try await body(client)
    } catch {
      group.cancelAll()
      throw error
    }
    group.cancelAll()
  }
  loop.stop()
}

let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// What `body` throws.
func redisError(_ body: () async throws(RedisError) -> some Any) async -> RedisError? {
  do throws(RedisError) {
    _ = try await body()
    return nil
  } catch {
    return error
  }
}

/// Looks until `condition` holds. The test's own time limit ends it if it never does.
func until(_ condition: () async throws -> Bool) async throws {
  while try await !condition() { try await Task.sleep(for: .milliseconds(2)) }
}

/// A random generator whose seed is printed, so that a failure can be run again: `FANMILL_TEST_SEED=…`.
struct SeededGenerator: RandomNumberGenerator, Sendable {
  let seed: UInt64
  private var state: UInt64

  init(_ name: String) {
    let given = ProcessInfo.processInfo.environment["FANMILL_TEST_SEED"].flatMap(UInt64.init)
    self.init(seed: given ?? .random(in: 0...(.max)))
    print("\(name): FANMILL_TEST_SEED=\(seed)")
  }

  init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  /// SplitMix64 (Steele, Lea, Flood 2014).
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
