import Foundation
import LibPQClient

/// Opens, finds and changes accounts.
public enum Accounts {
  /// Profile counts are exact up to this limit. Beyond it, an author's followers are the number that the latest fan-out
  /// counted, and other counts stop at the limit. A counter row would serialize every follow of a celebrity, while
  /// counting this many index entries takes about 5 ms.
  public static let countLimit = 50_000

  /// Creates an account.
  ///
  /// - Parameter passwordHash: the hash of the registration's password, from `PasswordHasher.hash`.
  /// - Returns: its id and its username.
  /// - Throws: `username_taken`, `email_taken`, `invalid_avatar`.
  public static func open(
    _ registration: Registration, passwordHash: String, in transaction: PostgresTransaction
  ) async throws -> (id: Int, username: String) {
    let username: String
    if let chosen = registration.username {
      username = chosen
    } else {
      username = try await Usernames.made(from: registration.name, in: transaction)
    }
    let rows: PostgresRows
    do {
      rows = try await transaction.query(
        """
        INSERT INTO accounts (username, email, password_hash, name, major, bio, adult_since)
        VALUES (\(username), \(registration.email), \(passwordHash), \(registration.name),
          \(registration.major), \(registration.bio), CASE WHEN \(registration.isAdult) THEN now() END)
        RETURNING id
        """)
    } catch {
      if let taken = Usernames.taken(by: error) ?? EmailChanges.taken(by: error) { throw taken }
      throw error
    }
    let id = try rows[0].decode(Int.self)
    if let avatar = registration.avatar {
      try await MediaLibrary.claim(avatar, by: id, in: transaction)
      try await transaction.execute("UPDATE accounts SET avatar_media = \(avatar.text) WHERE id = \(id)")
    }
    try await transaction.execute(
      """
      SELECT \(WebhookEvents.noting(
        .accountCreated, about: "'account/' || id", "jsonb_build_object('account', webhook_account(id))",
        account: "id"))
      FROM accounts WHERE id = \(id)
      """)
    return (id, username)
  }

  /// The id of the account named `username`, ignoring case.
  ///
  /// - Throws: `not_found`, `AccountMoved`.
  public static func id(of username: String, in reader: some SocialReader) async throws -> Int {
    let username = NormalForm.compared(username)
    guard FieldRules.isUsername(username.utf8) else { throw SocialError.notFound("account") }
    let rows = try await reader.rows(
      #"SELECT id FROM accounts WHERE lower(username) COLLATE "C" = lower(\#(username)) COLLATE "C""#)
    guard let row = rows.first else { throw try await Usernames.absence(of: username, in: reader) }
    return try row.decode(Int.self)
  }

  /// Whether `username` is the name of this account.
  static func isName(_ username: String, of account: Int, in reader: some SocialReader) async throws -> Bool {
    let username = NormalForm.compared(username)
    guard FieldRules.isUsername(username.utf8) else { return false }
    return try await !reader.rows(
      """
      SELECT FROM accounts WHERE id = \(account) AND lower(username) COLLATE "C" = lower(\(username)) COLLATE "C"
      """
    ).isEmpty
  }

  /// The id of the account named `username`, for a viewer who may not see every account.
  ///
  /// - Throws: `not_found`, `AccountMoved`.
  public static func id(of username: String, seenBy viewer: Int, in reader: some SocialReader) async throws -> Int {
    let username = NormalForm.compared(username)
    guard FieldRules.isUsername(username.utf8) else { throw SocialError.notFound("account") }
    let rows = try await reader.rows(
      """
      SELECT id, \(Visibility.isVisible("id", to: viewer)) FROM accounts
      WHERE lower(username) COLLATE "C" = lower(\(username)) COLLATE "C"
      """
    ).decode(Int.self, Bool.self)
    guard let (id, isVisible) = rows.first else {
      throw try await Usernames.absence(of: username, seenBy: viewer, in: reader)
    }
    guard isVisible else { throw SocialError.notFound("account") }
    return id
  }

  /// The profile of the account named `username`, as `viewer` sees it.
  ///
  /// - Throws: `not_found`, `AccountMoved`.
  public static func profile(
    of username: String, seenBy viewer: Int, in reader: some SocialReader
  ) async throws -> Profile {
    let username = NormalForm.compared(username)
    guard FieldRules.isUsername(username.utf8) else { throw SocialError.notFound("account") }
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: profileColumns),
        EXISTS (SELECT FROM follows WHERE followee_id = a.id AND follower_id = \(viewer)),
        EXISTS (SELECT FROM restrictions WHERE account_id = \(viewer) AND other_id = a.id AND muted_at IS NOT NULL)
      FROM accounts a WHERE lower(username) COLLATE "C" = lower(\(username)) COLLATE "C"
        AND \(Visibility.isVisible("a.id", to: viewer))
      """)
    guard let row = rows.first else { throw try await Usernames.absence(of: username, seenBy: viewer, in: reader) }
    return try profile(row)
  }

  /// An account as its owner sees it.
  ///
  /// - Throws: `not_found`.
  public static func own(_ id: Int, in reader: some SocialReader) async throws -> OwnAccount {
    let rows = try await reader.rows(
      "SELECT \(unescaped: ownColumns) FROM accounts a WHERE id = \(id)")
    guard let row = rows.first else { throw SocialError.notFound("account") }
    return try own(row)
  }

  /// The account that owns the session of a token, as its owner sees it.
  ///
  /// - Throws: `not_signed_in` if the token belongs to no session, or the session has expired.
  public static func own(_ token: SessionToken, in reader: some SocialReader) async throws -> OwnAccount {
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: ownColumns) FROM sessions s JOIN accounts a ON a.id = s.account_id
      WHERE s.token_hash = \(token.hash) AND s.expires_at > now()
      """)
    guard let row = rows.first else { throw Sessions.ended }
    return try own(row)
  }

  private static let ownColumns = "\(profileColumns), false, false, email, adult_since"

  private static func own(_ row: PostgresRow) throws -> OwnAccount {
    OwnAccount(
      profile: try profile(row), email: try row.decode(String?.self, named: "email"),
      isAdult: try row.decode(Date?.self, named: "adult_since") != nil)
  }

  /// - Throws: `not_found`, `username_taken`, `too_many_usernames`, `invalid_avatar`, `broken_media`.
  public static func change(_ id: Int, _ changes: AccountChanges, in transaction: PostgresTransaction) async throws {
    if changes.avatar != nil { try await transaction.execute(MediaLibrary.lock(id)) }
    if let avatar = changes.avatar ?? nil {
      _ = try await MediaUse([avatar], of: id, as: "avatar", in: transaction)
    }
    // Choosing a picture, or removing it, also clears an external address from an earlier version.
    let changesAvatar = changes.avatar != nil
    let touched = try await transaction.execute(
      """
      UPDATE accounts SET name = coalesce(\(changes.name), name), major = coalesce(\(changes.major), major),
        bio = coalesce(\(changes.bio), bio),
        avatar = CASE WHEN NOT \(changesAvatar) THEN avatar END,
        avatar_media = CASE WHEN \(changesAvatar) THEN \((changes.avatar ?? nil)?.text) ELSE avatar_media END,
        adult_since = CASE \(changes.isAdult) WHEN true THEN coalesce(adult_since, now()) WHEN false THEN NULL
          ELSE adult_since END
      WHERE id = \(id)
      """)
    guard touched == 1 else { throw SocialError.notFound("account") }
    if let username = changes.username { try await Usernames.change(id, to: username, in: transaction) }
  }

  /// The location of account `a`'s picture: a path on this server, or the external address that the account had before
  /// pictures were stored here.
  static let avatar = "coalesce('/media/' || a.avatar_media || '/thumb', a.avatar)"

  private static let profileColumns = """
    a.id, a.username, a.name, a.major, a.bio, \(avatar),
    (SELECT count(*) FROM (SELECT FROM posts WHERE author_id = a.id AND taken_down_at IS NULL LIMIT \(countLimit)) x),
    (SELECT CASE WHEN n < \(countLimit) THEN n ELSE greatest(n, (
        SELECT followers FROM fan_outs WHERE author_id = a.id AND finished_at IS NOT NULL
        ORDER BY post_id DESC LIMIT 1)) END
      FROM (SELECT count(*) AS n FROM (SELECT FROM follows WHERE followee_id = a.id LIMIT \(countLimit)) x) y),
    (SELECT count(*) FROM (SELECT FROM follows WHERE follower_id = a.id LIMIT \(countLimit)) x)
    """

  private static func profile(_ row: PostgresRow) throws -> Profile {
    Profile(
      id: try Int(postgres: row[0]), username: try String(postgres: row[1]), name: try String(postgres: row[2]),
      major: try String(postgres: row[3]), bio: try String(postgres: row[4]), avatar: try String?(postgres: row[5]),
      posts: try Int(postgres: row[6]), followers: try Int(postgres: row[7]), following: try Int(postgres: row[8]),
      isFollowed: try Bool(postgres: row[9]), isMuted: try Bool(postgres: row[10]))
  }
}
