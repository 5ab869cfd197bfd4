import Cryptography
import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

extension FirebaseWriter {
  // MARK: Sign-in data

  /// Keeps sign-in data for the profiles that follow. A user who came without it gets it now.
  func write(signIns items: [BatchItem<FirebaseRecords.SignIn>]) async throws -> FirebaseOutcome {
    try await transact { transaction in
      let sql = transaction.sql
      var outcome = FirebaseOutcome()
      let (fresh, known) = try await Self.fresh(items, of: .auth, { $0.uid }, in: sql)
      outcome.known = known
      if fresh.isEmpty { return outcome }
      let accounts = try await Self.accounts(Set(fresh.map { $0.value.uid }), in: sql)
      let takenEmails = try await Self.taken(emails: fresh.compactMap { $0.value.email }, in: sql)
      let former = Set(
        try await sql.query(
          "SELECT source FROM imports WHERE kind = 'users' AND source = ANY (\(fresh.map { $0.value.uid }))",
          timeout: Self.timeout
        ).decode(String.self))
      var staged: [FirebaseRecords.SignIn] = []
      var disabled: [Int] = []
      for item in fresh {
        let signIn = item.value
        guard let account = accounts[signIn.uid] else {
          // Of a user who was deleted since, nothing is kept.
          if !former.contains(signIn.uid) { staged.append(signIn) }
          continue
        }
        if let email = signIn.email, takenEmails.contains(email) {
          outcome.rejected[item.index] = Self.takenEmail
          continue
        }
        try await sql.execute(
          """
          UPDATE accounts SET email = \(signIn.email), password_hash = \(signIn.passwordHash)
          WHERE id = \(account) AND email IS NULL AND password_hash IS NULL
          """)
        if signIn.isDisabled { disabled.append(account) }
      }
      try await Self.suspend(disabled, in: sql)
      try await sql.execute(
        """
        INSERT INTO import_auth (uid, email, password_hash, name, created_at, is_disabled)
        SELECT * FROM unnest(\(staged.map(\.uid)), \(staged.map(\.email)), \(staged.map(\.passwordHash)),
          \(staged.map(\.name)), \(staged.map(\.createdAt)), \(staged.map(\.isDisabled)))
        ON CONFLICT (uid) DO UPDATE SET email = excluded.email, password_hash = excluded.password_hash,
          name = excluded.name, created_at = excluded.created_at, is_disabled = excluded.is_disabled
        """, timeout: Self.timeout)
      let taken = fresh.filter { outcome.rejected[$0.index] == nil }
      try await Self.note(taken.map { $0.value.uid }, of: .auth, in: sql)
      outcome.added = taken.count
      return outcome
    }
  }

  // MARK: Accounts

  /// Sign-in data that waits for a profile.
  private struct Staged: Sendable {
    let email: String?
    let passwordHash: String?
    let name: String
    let createdAt: Date?
    let isDisabled: Bool
  }

  /// Opens accounts for profiles, with the sign-in data that waits for them.
  func write(users items: [BatchItem<FirebaseRecords.User>]) async throws -> FirebaseOutcome {
    try await transact { try await Self.open(items, now: now, in: $0) }
  }

  /// Keeps back the sign-in data of users whose profiles were rejected, until a profile comes.
  func hold(_ uids: [String]) async throws {
    if uids.isEmpty { return }
    _ = try await transact { transaction in
      try await transaction.sql.execute("UPDATE import_auth SET is_held = true WHERE uid = ANY (\(uids))")
      return FirebaseOutcome()
    }
  }

  /// The next users with sign-in data but no profile.
  func usersWithoutProfile(after uid: String, limit: Int, in pool: PostgresPool) async throws -> [String] {
    try await pool.query(
      """
      SELECT uid FROM import_auth WHERE NOT is_held AND uid > \(uid) ORDER BY uid LIMIT \(limit)
      """, timeout: Self.timeout
    ).decode(String.self)
  }

  private static let takenEmail =
    "another account here has the user's address: change that account's, or delete it, and try the record again"

  private static func open(
    _ items: [BatchItem<FirebaseRecords.User>], now: Date, in transaction: AppTransaction
  ) async throws -> FirebaseOutcome {
    let sql = transaction.sql
    var outcome = FirebaseOutcome()
    let (fresh, known) = try await Self.fresh(items, of: .users, { $0.uid }, in: sql)
    outcome.known = known
    if fresh.isEmpty { return outcome }
    let staged = try await Self.staged(fresh.map { $0.value.uid }, in: sql)
    let candidates = fresh.map { item in usernames(for: item.value, staged[item.value.uid]) }
    var takenNames = try await taken(usernames: candidates.flatMap { $0 }, in: sql)
    var takenEmails = try await taken(emails: fresh.compactMap { staged[$0.value.uid]?.email }, in: sql)

    var rows = NewAccounts()
    for (item, names) in zip(fresh, candidates) {
      let user = item.value
      let signIn = staged[user.uid]
      if let email = signIn?.email {
        guard takenEmails.insert(email).inserted else {
          outcome.rejected[item.index] = takenEmail
          continue
        }
      }
      guard let username = names.first(where: { !takenNames.contains($0.lowercased()) }) else {
        outcome.rejected[item.index] = "no username made from it is free"
        continue
      }
      takenNames.insert(username.lowercased())
      if let wanted = user.username, wanted != username {
        outcome.changed[item.index] = "the username '\(wanted)' is taken or not allowed: the user is now '\(username)'"
      }
      rows.uids.append(user.uid)
      rows.usernames.append(username)
      rows.emails.append(signIn?.email)
      rows.hashes.append(signIn?.passwordHash)
      rows.names.append(!user.name.isEmpty ? user.name : signIn.map(\.name) ?? "")
      rows.majors.append(user.major)
      rows.bios.append(user.bio)
      rows.dates.append(signIn?.createdAt ?? user.createdAt ?? now)
      if signIn?.isDisabled == true { rows.disabled.append(user.uid) }
      if let picture = user.picture {
        if StoragePath.read(picture) == .external {
          outcome.externalPictures += 1
        } else {
          rows.pictures[user.uid] = picture
        }
      }
    }
    if rows.uids.isEmpty { return outcome }
    try await insert(rows, in: sql)
    outcome.added = rows.uids.count
    return outcome
  }

  private struct NewAccounts {
    var uids: [String] = []
    var usernames: [String] = []
    var emails: [String?] = []
    var hashes: [String?] = []
    var names: [String] = []
    var majors: [String] = []
    var bios: [String] = []
    var dates: [Date] = []
    var disabled: [String] = []
    var pictures: [String: String] = [:]
  }

  private static func insert(_ rows: NewAccounts, in sql: PostgresTransaction) async throws {
    let made = try await sql.query(
      """
      WITH given AS (
        SELECT * FROM unnest(\(rows.uids), \(rows.usernames), \(rows.emails), \(rows.hashes), \(rows.names),
          \(rows.majors), \(rows.bios), \(rows.dates)) WITH ORDINALITY
          AS g (uid, username, email, password_hash, name, major, bio, created_at, place)
      ), made AS (
        INSERT INTO accounts (username, email, password_hash, name, major, bio, created_at)
        SELECT username, email, password_hash, name, major, bio, created_at FROM given ORDER BY place
        RETURNING id, username
      ), noted AS (
        INSERT INTO imports (kind, source, id)
        SELECT 'users', g.uid, m.id FROM made m JOIN given g ON g.username = m.username
      ), spent AS (
        DELETE FROM import_auth WHERE uid = ANY (\(rows.uids))
      )
      SELECT g.uid, m.id FROM made m JOIN given g ON g.username = m.username
      """, timeout: timeout
    ).decode(String.self, Int.self)
    var ids: [String: Int] = [:]
    for (uid, id) in made { ids[uid] = id }
    try await suspend(rows.disabled.compactMap { ids[$0] }, in: sql)
    let pictures = rows.pictures.sorted { $0.key < $1.key }
    if pictures.isEmpty { return }
    try await sql.execute(
      """
      INSERT INTO import_pictures (owner_id, path, source)
      SELECT * FROM unnest(\(pictures.compactMap { ids[$0.key] }), \(pictures.map(\.value)),
        \(pictures.map { "users/\($0.key)" }))
      """)
  }

  private static func suspend(_ accounts: [Int], in sql: PostgresTransaction) async throws {
    if accounts.isEmpty { return }
    // An update, since its trigger hides the accounts.
    try await sql.execute(
      """
      UPDATE accounts SET suspended_at = now(), suspension_reason = 'disabled in Firebase'
      WHERE id = ANY (\(accounts)) AND suspended_at IS NULL
      """)
    try await sql.execute("DELETE FROM sessions WHERE account_id = ANY (\(accounts))")
  }

  private static func staged(_ uids: [String], in sql: PostgresTransaction) async throws -> [String: Staged] {
    let rows = try await sql.query(
      """
      SELECT uid, email, password_hash, name, created_at, is_disabled FROM import_auth WHERE uid = ANY (\(uids))
      """, timeout: timeout
    ).decode(String.self, String?.self, String?.self, String.self, Date?.self, Bool.self)
    var staged: [String: Staged] = [:]
    for (uid, email, hash, name, date, isDisabled) in rows {
      staged[uid] = Staged(email: email, passwordHash: hash, name: name, createdAt: date, isDisabled: isDisabled)
    }
    return staged
  }

  /// The usernames to try, in order. The same user gets the same ones in every run.
  private static func usernames(for user: FirebaseRecords.User, _ signIn: Staged?) -> [String] {
    var base = user.username ?? ""
    if !FieldRules.isUsername(base.utf8) {
      let email = signIn?.email?.prefix { $0 != "@" } ?? ""
      let sources = [base, user.name, signIn?.name ?? "", String(email)]
      let latin = sources.filter { !$0.isEmpty }.map { Usernames.latin($0) }
      base = latin.first { $0 != "user" } ?? "user"
    }
    let digits = SHA256.hash(of: user.uid.utf8).map { String($0 % 10) }.joined()
    let short = base.prefix(FieldRules.longestUsername - 16)
    return [base] + [4, 8, 16].map { "\(short)\(digits.prefix($0))" }
  }

  private static func taken(usernames: [String], in sql: PostgresTransaction) async throws -> Set<String> {
    let lowered = usernames.map { $0.lowercased() }
    return Set(
      try await sql.query(
        """
        SELECT lower(username) FROM accounts WHERE lower(username) COLLATE "C" = ANY (\(lowered))
        UNION ALL
        SELECT lower(username) FROM former_usernames
        WHERE lower(username) COLLATE "C" = ANY (\(lowered)) AND kept_until > clock_timestamp()
        """, timeout: timeout
      ).decode(String.self))
  }

  private static func taken(emails: [String], in sql: PostgresTransaction) async throws -> Set<String> {
    if emails.isEmpty { return [] }
    return Set(
      try await sql.query(
        """
        SELECT lower(email COLLATE "C") FROM accounts
        WHERE lower(email COLLATE "C") = ANY (\(emails)) AND email IS NOT NULL
        """, timeout: timeout
      ).decode(String.self))
  }
}
