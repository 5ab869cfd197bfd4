import LibPQClient
import Locking

/// Counts attempts for an address or by a client, and refuses those beyond a limit.
///
/// An attempt counts before any check, whether or not an account has the address. Racing guesses cannot slip through,
/// and a refusal reveals nothing. The counts are in Postgres, shared by all processes.
public struct AttemptBook: Sendable {
  private let pool: PostgresPool
  private let refusals: RefusalMemory

  /// - Parameter memory: how long a refusal is repeated without querying Postgres, so that a client beyond its limit
  ///   causes no database load.
  public init(pool: PostgresPool, memory: Duration = .seconds(1)) {
    self.pool = pool
    refusals = RefusalMemory(memory)
  }

  /// Counts attempts, all in one statement.
  ///
  /// - Throws: `too_many_attempts` for the first one beyond its limit.
  func count(_ attempts: Attempt...) async throws {
    for attempt in attempts { try refuseAgain(attempt) }
    let left = try await tally(attempts)
    for (attempt, left) in zip(attempts, left) {
      if let left { throw remember(attempt, left) }
    }
  }

  /// Counts attempts without refusing any.
  ///
  /// - Returns: for each attempt beyond its limit, the seconds until it is allowed again.
  private func tally(_ attempts: [Attempt]) async throws -> [Int?] {
    // Every statement locks the rows in the same order, so concurrent ones cannot deadlock.
    let rows = try await pool.query(
      """
      INSERT INTO sign_in_attempts AS a (address_hash, attempts, since)
      SELECT hash, 1, now() FROM unnest(\(attempts.map(\.hash))) AS hash ORDER BY hash
      ON CONFLICT (address_hash) DO UPDATE SET
        attempts = CASE WHEN a.since <= excluded.since - \(unescaped: Self.interval) THEN 1
          ELSE least(a.attempts, 1000000) + 1 END,
        since = CASE WHEN a.since <= excluded.since - \(unescaped: Self.interval) THEN excluded.since ELSE a.since END
      RETURNING address_hash, attempts, ceil(extract(epoch FROM since + \(unescaped: Self.interval) - now()))::bigint
      """
    ).decode([UInt8].self, Int32.self, Int.self)
    return attempts.map { attempt in
      rows.first { $0.0 == attempt.hash && $0.1 > attempt.limit.limit }?.2
    }
  }

  /// Repeats a recent refusal without counting an attempt.
  ///
  /// - Throws: `too_many_attempts`.
  func refuseAgain(_ attempt: Attempt) throws(SocialError) {
    if let left = refusals.secondsLeft(of: attempt) { throw Self.refusal(of: attempt, left) }
  }

  /// Counts a guess at a secret that this process knows. A wrong guess counts; beyond the limit even a right one is
  /// refused.
  ///
  /// The row lock orders racing guesses, so a right guess passes only if fewer wrong ones than the limit precede it. A
  /// right guess neither counts nor resets the count: a client that knows one secret may be guessing at another.
  ///
  /// - Throws: `too_many_attempts`.
  public func guess(isRight: Bool, at limit: AttemptLimit, by client: String) async throws {
    let attempt = limit.by(client)
    guard isRight else { return try await count(attempt) }
    try refuseAgain(attempt)
    let rows = try await pool.query(
      """
      SELECT attempts, ceil(extract(epoch FROM since + \(unescaped: Self.interval) - now()))::bigint
      FROM sign_in_attempts
      WHERE address_hash = \(attempt.hash) AND since > now() - \(unescaped: Self.interval) FOR UPDATE
      """
    ).decode(Int32.self, Int.self)
    if let (count, left) = rows.first, count >= limit.limit { throw remember(attempt, left) }
  }

  /// Counts a sign-up request by a client.
  ///
  /// - Throws: `too_many_attempts`.
  public func countSignUp(by client: String) async throws { try await count(AttemptLimit.signUpByClient.by(client)) }

  /// Counts an attempt and checks it against its limit.
  ///
  /// - Returns: the error to refuse it with, or nil if it is allowed.
  func refusal(of attempt: Attempt) async throws -> SocialError? {
    try await tally([attempt])[0].map { remember(attempt, $0) }
  }

  /// Takes back attempts that should not count.
  func giveBack(_ attempts: [Attempt]) async throws {
    try await pool.execute(
      """
      UPDATE sign_in_attempts SET attempts = greatest(attempts - 1, 0) WHERE address_hash IN (
        SELECT address_hash FROM sign_in_attempts WHERE address_hash = ANY(\(attempts.map(\.hash)))
        ORDER BY address_hash FOR UPDATE)
      """)
  }

  /// Resets the count of an attempt.
  func forget(_ attempt: Attempt) async throws {
    try await pool.execute("DELETE FROM sign_in_attempts WHERE address_hash = \(attempt.hash)")
  }

  /// Deletes expired counts of all kinds.
  ///
  /// - Returns: how many, at most `limit`.
  @discardableResult
  static func sweep(upTo limit: Int, in transaction: PostgresTransaction) async throws -> Int {
    try await transaction.execute(
      """
      DELETE FROM sign_in_attempts WHERE address_hash IN (
        SELECT address_hash FROM sign_in_attempts WHERE since <= now() - \(unescaped: interval)
        ORDER BY since LIMIT \(limit) FOR UPDATE SKIP LOCKED)
      """)
  }

  private static var interval: String { "interval '\(AttemptLimit.window) minutes'" }

  /// - Parameter left: in seconds. It can exceed the window, because a later transaction may have started the count.
  private func remember(_ attempt: Attempt, _ left: Int) -> SocialError {
    let left = min(max(left, 1), AttemptLimit.window * 60)
    refusals.note(attempt, secondsLeft: left)
    return Self.refusal(of: attempt, left)
  }

  private static func refusal(of attempt: Attempt, _ left: Int) -> SocialError {
    SocialError(
      .tooManyAttempts, "\(attempt.limit.what): try again in \((left + 59) / 60) minutes", retryAfter: left)
  }
}

/// Remembers recent refusals.
private final class RefusalMemory: Sendable {
  private struct Refusal {
    let until: ContinuousClock.Instant
    let end: ContinuousClock.Instant
  }

  /// At this size the memory is cleared. The next refusal by Postgres is remembered again.
  private static let maxCount = 10_000

  private let length: Duration
  private let refusals = Locked<[[UInt8]: Refusal]>([:])

  init(_ length: Duration) { self.length = length }

  func note(_ attempt: Attempt, secondsLeft: Int) {
    let now = ContinuousClock.now
    let end = now + .seconds(secondsLeft)
    let refusal = Refusal(until: min(now + length, end), end: end)
    refusals.withLock { refusals in
      if refusals.count >= Self.maxCount { refusals = refusals.filter { $0.value.until > now } }
      if refusals.count >= Self.maxCount { refusals = [:] }
      refusals[attempt.hash] = refusal
    }
  }

  /// - Returns: nil if no refusal is remembered.
  func secondsLeft(of attempt: Attempt) -> Int? {
    let now = ContinuousClock.now
    guard let refusal = refusals.withLock({ $0[attempt.hash] }), refusal.until > now else { return nil }
    return max(1, Int((now.duration(to: refusal.end) / .seconds(1)).rounded(.up)))
  }
}
