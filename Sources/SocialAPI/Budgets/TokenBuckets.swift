import DurableJobs
import HiredisClient
import Locking
import Logging

/// Token buckets in Redis: each holds an hour's worth and fills evenly; an empty one refuses until a token is in it.
///
/// Where Redis does not answer in time, nothing is refused, and a single request a second asks again: a budget is worth
/// no outage.
public struct TokenBuckets: Sendable {
  /// What a bucket says.
  struct Standing: Sendable, Hashable {
    let isAllowed: Bool
    /// Tokens that are left.
    let left: Int
    /// Milliseconds until there is one, 0 where there is.
    let wait: Int
    /// Milliseconds until the bucket is full.
    let untilFull: Int
  }

  private enum Outcome {
    case answer(Standing)
    case failed(RedisError)
    case late
  }

  private let client: RedisClient
  private let prefix: String
  private let patience: Duration
  private let breaker: CircuitBreaker
  private let logger: Logger
  /// Whether the log says that no budgets are kept.
  private let isNoted = Locked(false)

  /// - Parameters:
  ///   - client: its `run()` must be running.
  ///   - prefix: with which every key begins.
  ///   - patience: how long an answer is waited for.
  ///   - breaker: keeps requests from waiting in vain one after the other.
  public init(
    client: RedisClient, prefix: String = "fanmill", patience: Duration = .milliseconds(50),
    breaker: CircuitBreaker = CircuitBreaker(), logger: Logger
  ) {
    self.client = client
    self.prefix = prefix
    self.patience = patience
    self.breaker = breaker
    self.logger = logger
  }

  /// Takes a token.
  ///
  /// - Parameter limit: how many an hour, at least 1.
  /// - Returns: nil where Redis does not answer.
  func spend(_ name: String, limit: Int, of owner: String) async throws -> Standing? {
    try await run(name, limit, owner, tokens: 1)
  }

  /// Puts a token back.
  func giveBack(_ name: String, limit: Int, of owner: String) async throws {
    _ = try await run(name, limit, owner, tokens: -1)
  }

  private func run(_ name: String, _ limit: Int, _ owner: String, tokens: Int) async throws -> Standing? {
    guard breaker.admits() else { return nil }
    let key = "\(prefix):budget:{\(name):\(owner)}"
    let outcome = await withTaskGroup(of: Outcome.self) { group in
      group.addTask {
        do throws(RedisError) {
          return .answer(
            try await client.evaluate(Self.script, keys: [key], arguments: [limit, tokens]) {
              reply throws(RedisError) in
              try Self.standing(reply.value)
            })
        } catch {
          return .failed(error)
        }
      }
      group.addTask {
        do { try await Task.sleep(for: patience) } catch { return .late }
        return .late
      }
      defer { group.cancelAll() }
      return await group.next() ?? .late
    }
    try Task.checkCancellation()
    switch outcome {
    case .answer(let standing):
      breaker.succeeded()
      noteAnswer()
      return standing
    case .failed(let error):
      // A refusal is an answer.
      if error.code == .server { breaker.succeeded() } else { breaker.failed() }
      noteOutage("\(error)")
    case .late:
      breaker.failed()
      noteOutage("no answer within \(patience)")
    }
    return nil
  }

  // MARK: Outages

  private func noteOutage(_ reason: String) {
    if note(outage: true) { return }
    logger.warning("Redis keeps no budgets: nothing is refused until it does", metadata: ["error": "\(reason)"])
  }

  private func noteAnswer() {
    if note(outage: false) { logger.notice("Redis keeps budgets again") }
  }

  /// - Returns: what was noted before.
  private func note(outage isOut: Bool) -> Bool {
    isNoted.withLock { isNoted in
      defer { isNoted = isOut }
      return isNoted
    }
  }

  // MARK: The script

  private static func standing(_ reply: RedisValue) throws(RedisError) -> Standing {
    let numbers = (reply.elements ?? []).compactMap(\.int)
    guard numbers.count == 4 else { throw RedisError(.protocol, "a bucket was answered with \(numbers.count) numbers") }
    return Standing(isAllowed: numbers[0] == 1, left: numbers[1], wait: numbers[2], untilFull: numbers[3])
  }

  /// The key holds when the bucket will be full, in milliseconds, and goes when it is (GCRA, as ATM's ITU-T I.371
  /// describes it). The arguments are the tokens of an hour, and 1 to take one or -1 to put one back. Redis' clock
  /// decides.
  private static let script = RedisScript(
    """
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local hour = 3600000
    local step = hour / ARGV[1]
    local full = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
    local after = full + step * ARGV[2]
    local allowed = after - now <= hour + 0.5
    if allowed then
      full = math.max(after, now)
      if full > now then
        redis.call('SET', KEYS[1], string.format('%.3f', full), 'PX', math.ceil(full - now))
      else
        redis.call('DEL', KEYS[1])
      end
    end
    local left = math.max(0, math.floor((hour + 0.5 - (full - now)) / step))
    return {allowed and 1 or 0, left, allowed and 0 or math.ceil(after - now - hour), math.ceil(full - now)}
    """)
}
