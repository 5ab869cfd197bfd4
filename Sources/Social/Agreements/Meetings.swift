import Cryptography
import Foundation
import LibPQClient

/// Lets two devices meet and seal an agreement. The server relays their messages and cannot read them.
public struct Meetings: Sendable {
  /// This many wrong codes end a meeting.
  static let maxWrongCodes = 5
  /// How long a code is valid, in seconds.
  static let codeSeconds = 120
  /// How long two devices have to finish once they have met, in seconds.
  static let meetingSeconds = 900
  /// How many agreements an account may keep.
  static let maxCopies = 1000

  private let secrets: AgreementSecrets
  private let attempts: AttemptBook

  public init(secrets: AgreementSecrets, attempts: AttemptBook) {
    self.secrets = secrets
    self.attempts = attempts
  }

  // MARK: Beginning

  /// Begins a meeting, and ends the host's previous one.
  ///
  /// - Returns: the meeting and its six-digit code.
  /// - Throws: `adult_statement_needed`, `too_many_agreements`.
  public func begin(
    _ introduction: MeetingIntroduction, by host: Int, in transaction: PostgresTransaction
  ) async throws -> (meeting: Meeting, code: String) {
    var generator = SystemRandomNumberGenerator()
    let number = Int.random(in: 0..<1_000_000, using: &generator)
    let code = String(repeating: "0", count: 6 - String(number).count) + String(number)
    try await requireAdult(host, in: transaction)
    let id = try await transaction.pipeline([
      """
      UPDATE agreement_meetings SET state = 'ended', ending = 'replaced'
      WHERE host_id = \(host) AND state IN ('open', 'joined')
      """,
      """
      INSERT INTO agreement_meetings (host_id, code_hash, expires_at, host_key, host_commitment)
      VALUES (\(host), \(secrets.hash(ofCode: code, of: host)),
        clock_timestamp() + make_interval(secs => \(Double(Self.codeSeconds))), \(introduction.key),
        \(introduction.commitment))
      RETURNING id
      """,
    ])[1][0].decode(Int.self)
    return (try await Self.read(id, of: host, in: transaction), code)
  }

  /// Counts a meeting that an account is about to begin, unless it may begin none.
  ///
  /// - Throws: `adult_statement_needed`, `too_many_agreements`, `too_many_attempts`.
  public func allowBeginning(by host: Int, in reader: some SocialReader) async throws {
    try Self.requireAdult(try await reader.rows(Self.standing(of: host)))
    try await attempts.count(AttemptLimit.meetings.by(String(host)))
  }

  /// Requires that the owner has stated that they are an adult. Locks the account, so that it begins or joins one
  /// meeting at a time.
  private func requireAdult(_ account: Int, in transaction: PostgresTransaction) async throws {
    try Self.requireAdult(try await transaction.query("\(Self.standing(of: account)) FOR NO KEY UPDATE"))
  }

  private static func standing(of account: Int) -> PostgresQuery {
    """
    SELECT adult_since IS NOT NULL, (SELECT count(*) FROM agreement_copies WHERE account_id = \(account))
    FROM accounts WHERE id = \(account)
    """
  }

  private static func requireAdult(_ rows: PostgresRows) throws {
    guard let (isAdult, copies) = try rows.decode(Bool.self, Int.self).first else {
      throw SocialError.notFound("account")
    }
    guard isAdult else {
      throw SocialError(
        .adultStatementNeeded, #"agreements are for adults: state that you are one, with PATCH /v1/me {"adult": true}"#)
    }
    guard copies < Self.maxCopies else {
      throw SocialError(
        .tooManyAgreements, "an account may keep at most \(Self.maxCopies) agreements: delete some of your copies")
    }
  }

  // MARK: Joining

  private enum Joining {
    case joined(Meeting)
    case refused
  }

  /// Joins the meeting of `host` that has this code. Joining again with the same keys returns the same meeting.
  ///
  /// A wrong code, a host without a meeting, a meeting already joined by another account and a host that the joiner may
  /// not see all get the same response, so that a caller cannot learn who is about to meet.
  ///
  /// - Throws: `wrong_code`, `too_many_attempts`, `cannot_meet_yourself`, `adult_statement_needed`,
  ///   `too_many_agreements`.
  public func join(
    _ name: String, code: String, _ introduction: MeetingIntroduction, by joiner: Int, in pool: PostgresPool
  ) async throws -> Meeting {
    try await allowJoining(name, by: joiner, in: pool)
    // Counted before the code is compared, so that racing guesses all count.
    let attempt = AttemptLimit.meetingCode.by(String(joiner))
    try await attempts.count(attempt)
    let outcome = try await pool.transaction { transaction in
      try await join(name, code, introduction, by: joiner, in: transaction)
    }
    guard case .joined(let meeting) = outcome else {
      throw SocialError(.wrongCode, "\(name) has no meeting with this code, or it has ended", field: "code")
    }
    try await attempts.giveBack([attempt])
    return meeting
  }

  /// Refuses what says nothing about a code, and so is no guess that counts.
  private func allowJoining(_ name: String, by joiner: Int, in reader: some SocialReader) async throws {
    try Self.requireAdult(try await reader.rows(Self.standing(of: joiner)))
    if try await Accounts.isName(name, of: joiner, in: reader) { throw Self.ownMeeting }
  }

  private static let ownMeeting = SocialError(.cannotMeetYourself, "a meeting needs two different accounts")

  /// A refusal returns instead of throwing, so that the transaction commits and the wrong code counts.
  private func join(
    _ name: String, _ code: String, _ introduction: MeetingIntroduction, by joiner: Int,
    in transaction: PostgresTransaction
  ) async throws -> Joining {
    try await requireAdult(joiner, in: transaction)
    let host: Int
    do {
      host = try await Accounts.id(of: name, seenBy: joiner, in: transaction)
    } catch let error as SocialError where error.code == .notFound {
      return .refused
    } catch is AccountMoved {
      return .refused
    }
    guard host != joiner else { throw Self.ownMeeting }
    let rows = try await transaction.query(
      """
      SELECT id, state, code_hash, wrong_codes, joiner_id, joiner_key, joiner_commitment FROM agreement_meetings
      WHERE host_id = \(host) AND state IN ('open', 'joined') AND expires_at > clock_timestamp() FOR UPDATE
      """
    ).decode(Int.self, String.self, [UInt8].self, Int16.self, Int?.self, [UInt8]?.self, [UInt8]?.self)
    guard let (id, state, hash, wrong, known, key, commitment) = rows.first else { return .refused }
    let isRight = isEqualInConstantTime(hash, secrets.hash(ofCode: code, of: host))
    if state == Meeting.State.joined.rawValue {
      let isAgain = isRight && known == joiner && key == introduction.key && commitment == introduction.commitment
      return isAgain ? .joined(try await Self.read(id, of: joiner, in: transaction)) : .refused
    }
    guard isRight else {
      if Int(wrong) + 1 < Self.maxWrongCodes {
        try await transaction.execute("UPDATE agreement_meetings SET wrong_codes = wrong_codes + 1 WHERE id = \(id)")
      } else {
        try await transaction.execute(
          """
          UPDATE agreement_meetings SET wrong_codes = wrong_codes + 1, state = 'ended', ending = 'guessed'
          WHERE id = \(id)
          """)
      }
      return .refused
    }
    try await transaction.execute(
      """
      UPDATE agreement_meetings SET state = 'joined', joiner_id = \(joiner), joiner_key = \(introduction.key),
        joiner_commitment = \(introduction.commitment),
        expires_at = clock_timestamp() + make_interval(secs => \(Double(Self.meetingSeconds)))
      WHERE id = \(id)
      """)
    return .joined(try await Self.read(id, of: joiner, in: transaction))
  }

  // MARK: Reading

  /// - Throws: `not_found` if the account is not a party to the meeting.
  public static func read(_ id: Int, of account: Int, in reader: some SocialReader) async throws -> Meeting {
    let rows = try await reader.rows(
      """
      SELECT m.id, m.host_id = \(account), m.state, m.ending, m.expires_at,
        m.state IN ('open', 'joined') AND m.expires_at <= clock_timestamp(),
        CASE WHEN m.host_id = \(account) THEN m.joiner_key ELSE m.host_key END,
        CASE WHEN m.host_id = \(account) THEN m.joiner_commitment ELSE m.host_commitment END,
        CASE WHEN m.host_id = \(account) THEN m.joiner_nonce ELSE m.host_nonce END,
        (SELECT count(*) FROM agreement_messages s
          WHERE s.meeting_id = m.id AND s.is_hosts <> (m.host_id = \(account))),
        EXISTS (SELECT FROM agreement_seals s WHERE s.meeting_id = m.id AND s.is_hosts = (m.host_id = \(account))),
        \(unescaped: AccountSummary.columns)
      FROM agreement_meetings m
      LEFT JOIN accounts a ON a.id = CASE WHEN m.host_id = \(account) THEN m.joiner_id ELSE m.host_id END
        AND \(Visibility.isVisible("a.id", to: account))
      WHERE m.id = \(id) AND \(account) IN (m.host_id, m.joiner_id)
      """)
    guard let row = rows.first else { throw SocialError.notFound("meeting") }
    let isExpired = try Bool(postgres: row[5])
    var peer: Meeting.Peer?
    if let key = try [UInt8]?(postgres: row[6]), let commitment = try [UInt8]?(postgres: row[7]), !row[11].isNull {
      peer = Meeting.Peer(
        account: try AccountSummary(row: row, at: 11), key: key, commitment: commitment,
        nonce: try [UInt8]?(postgres: row[8]))
    }
    let state = Meeting.State(rawValue: try String(postgres: row[2])) ?? .ended
    return Meeting(
      id: try Int(postgres: row[0]), isHost: try Bool(postgres: row[1]), state: isExpired ? .ended : state,
      ending: isExpired ? .expired : try String?(postgres: row[3]).flatMap(Meeting.Ending.init),
      expiresAt: try Date(postgres: row[4]), peer: peer, received: try Int(postgres: row[9]),
      isSealedByMe: try Bool(postgres: row[10]) || state == .sealed)
  }

  // MARK: Ending

  /// Ends a meeting that is not sealed.
  ///
  /// - Throws: `not_found`.
  public static func leave(_ id: Int, by account: Int, in transaction: PostgresTransaction) async throws {
    _ = try await read(id, of: account, in: transaction)
    try await transaction.execute(
      "UPDATE agreement_meetings SET state = 'ended', ending = 'left' WHERE id = \(id) AND state IN ('open', 'joined')")
  }

  /// Deletes meetings that expired more than a day ago. They are kept as long as the events about them.
  ///
  /// - Returns: how many, at most `limit`.
  static func sweep(upTo limit: Int, in transaction: PostgresTransaction) async throws -> Int {
    // The messages and seals of a meeting are deleted as soon as it expires.
    try await transaction.pipeline([
      """
      DELETE FROM agreement_messages WHERE meeting_id IN (
        SELECT meeting_id FROM agreement_messages s JOIN agreement_meetings m ON m.id = s.meeting_id
        WHERE m.expires_at < now() LIMIT \(limit))
      """,
      """
      DELETE FROM agreement_seals WHERE meeting_id IN (
        SELECT meeting_id FROM agreement_seals s JOIN agreement_meetings m ON m.id = s.meeting_id
        WHERE m.expires_at < now() LIMIT \(limit))
      """,
    ])
    return try await transaction.execute(
      """
      DELETE FROM agreement_meetings WHERE id IN (
        SELECT id FROM agreement_meetings WHERE expires_at < now() - interval '1 day' ORDER BY expires_at LIMIT \(limit)
        FOR UPDATE SKIP LOCKED)
      """)
  }
}
