import DurableJobs
import HiredisClient
import Locking
import Logging

/// Token buckets in Redis. Each holds one hour's tokens and refills evenly; an empty bucket refuses requests until it
/// holds a token.
///
/// If Redis does not respond in time, no request is refused, and one request per second retries: a budget is not worth
/// an outage.
public struct TokenBuckets: Sendable {
  /// A bucket's state.
  struct Standing: Sendable, Hashable {
    let isAllowed: Bool
    /// The remaining tokens.
    let left: Int
    /// Milliseconds until a token is available; 0 if one is.
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
  /// Whether the log already says that budgets are off.
  private let isNoted = Locked(false)

  /// - Parameters:
  ///   - client: its `run()` must be running.
  ///   - prefix: the prefix of every key.
  ///   - patience: how long to wait for a reply.
  ///   - breaker: keeps requests from timing out one after another.
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
  /// - Parameter limit: tokens per hour, at least 1.
  /// - Returns: nil if Redis does not respond.
  func spend(_ name: String, limit: Int, of owner: String) async throws -> Standing? {
    try await run(name, limit, owner, tokens: 1)
  }

  /// Returns a token.
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
      // A server error is still a response.
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
    logger.warning("Redis cannot keep budgets; until it can, no request is refused", metadata: ["error": "\(reason)"])
  }

  private func noteAnswer() {
    if note(outage: false) { logger.notice("Redis keeps budgets again") }
  }

  /// - Returns: the previous value.
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

  /// The key holds the time, in milliseconds, at which the bucket is full, and expires then (GCRA, as ATM's ITU-T I.371
  /// describes it). The arguments are the tokens per hour, and 1 to take one or -1 to return one. Redis's clock
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
