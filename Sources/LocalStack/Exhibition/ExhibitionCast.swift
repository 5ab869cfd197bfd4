import DurableJobsAdmin
import HTTPTypes
import LibPQClient
import Social

/// The students' accounts in a stack, each signed in.
struct ExhibitionCast: Sendable {
  /// In the plan's order.
  let ids: [Int]
  let callers: [ExhibitionAPI.Caller]

  /// How long an interrupted run can be repeated: the stack forgets the keys of its requests after 24 hours.
  private static let hours: Int32 = 23

  /// Opens the accounts that are missing, and a session for each.
  ///
  /// This is the one step that does not go through the API: a client may open 20 accounts an hour, each at the cost of
  /// a third of a second for its password. Here all share one hash.
  ///
  /// - Throws: `.conflict` if somebody else has the name or the address of a student, or if a run was interrupted so
  ///   long ago that it cannot be repeated.
  static func enter(_ students: [Student], _ pool: PostgresPool) async throws -> ExhibitionCast {
    let hasher = PasswordHasher(threads: 1)
    let hash = try await hasher.hash(Exhibition.password, for: "demo")
    return try await pool.transaction { transaction in
      let known = try await transaction.query(
        """
        SELECT email, id, password_hash, created_at < now() - make_interval(hours => \(hours))
        FROM accounts WHERE lower(email) = ANY (\(students.map(\.email)))
        """
      ).decode(String.self, Int.self, String?.self, Bool.self)
      for (hash, accounts) in Dictionary(grouping: known, by: \.2) {
        guard try await hasher.check(Exhibition.password, against: hash, for: "demo") else {
          throw OperationError(
            .conflict, "'\(accounts[0].0)' is an account of this stack that is not the demo's: use another folder")
        }
      }
      if known.contains(where: \.3) {
        throw OperationError(
          .conflict,
          "the demo was interrupted in this stack a day ago, and would now do everything twice: use another folder")
      }
      var ids: [Int] = []
      var callers: [ExhibitionAPI.Caller] = []
      for student in students {
        let id =
          if let id = known.first(where: { $0.0 == student.email })?.1 { id } else {
            try await open(student, hash, in: transaction)
          }
        ids.append(id)
        callers.append(ExhibitionAPI.Caller(token: try await Sessions.open(for: id, in: transaction).text))
      }
      return ExhibitionCast(ids: ids, callers: callers)
    }
  }

  private static func open(_ student: Student, _ hash: String, in transaction: PostgresTransaction) async throws -> Int
  {
    do {
      let registration = try Registration(
        username: student.username, email: student.email, password: Exhibition.password, name: student.name,
        major: student.major, bio: student.bio, isAdult: true)
      return try await Accounts.open(registration, passwordHash: hash, in: transaction).id
    } catch let error as SocialError {
      throw OperationError(
        .conflict, "the demo's account '\(student.username)' cannot be opened in this stack: \(error.message)")
    }
  }

  /// Ends the sessions, so that an account's list of devices shows only real ones.
  func leave(_ api: ExhibitionAPI) async throws {
    try await callers.concurrently { try await api.send(.delete, "sessions/current", as: $0, expecting: 204) }
  }
}
