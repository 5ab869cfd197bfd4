import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// `accounts` and `sessions`: sign-up, sign-in and sign-out.
struct AccountRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool
  let hasher: PasswordHasher
  let attempts: AttemptBook
  let confirmsSignUp: Bool
  /// Whether a new account's owner must state to be an adult.
  let asksAdults: Bool
  let cookie: SessionCookie

  func add(to group: RouterGroup<APIContext>) {
    group.on(.openAccount, use: open)
    group.on(.signIn, use: signIn)
    group.on(.signOut, use: signOut)
  }

  private struct Opening: Decodable {
    /// Derived from the name if missing.
    var username: String?
    var email: String
    var password: String
    var name: String
    var major: String?
    var bio: String?
    /// The id of a picture uploaded with an upload token.
    var avatar: String?
    /// States that the owner is an adult.
    var adult: Bool?
  }

  private struct Opened: Encodable {
    var id: Int
    var username: String
    /// False if the address must be confirmed before the first sign-in.
    var isConfirmed: Bool
    /// nil if the address must be confirmed first, and for a cookie session.
    var token: String?
  }

  @Sendable private func open(_ request: Request, _ context: APIContext) async throws -> Answer {
    let wanted = try await RequestBody(request, context).decode(Opening.self)
    let registration = try Registration(
      username: wanted.username, email: wanted.email, password: wanted.password, name: wanted.name,
      major: wanted.major ?? "", bio: wanted.bio ?? "", avatar: wanted.avatar,
      isAdult: wanted.adult ?? false)
    guard registration.isAdult || !asksAdults else {
      throw SocialError(
        .invalid("adult"), "accounts on this server are for adults: state that you are one, with \"adult\": true",
        field: "adult")
    }
    // The fingerprint excludes the password: a fast hash of it would be worth guessing at.
    let said =
      [
        registration.username ?? "", registration.email, registration.name, registration.major, registration.bio,
        registration.avatar?.text ?? "",
      ] + (registration.isAdult ? ["adult"] : [])
    let key = try request.idempotencyKey(saying: Array(said.joined(separator: "\0").utf8), by: 0)
    try await attempts.countSignUp(by: context.client.key)
    let hash = try await hasher.hash(registration.password, for: context.client.key)
    let origin = SessionOrigin(context.client, client: request.headers[.userAgent])
    let opened = try await jobs.transaction { transaction -> (id: Int, username: String, token: SessionToken?)? in
      if let key, try await IdempotencyKeys.claim(key, in: transaction.sql) != .first { return nil }
      let (id, username) = try await Accounts.open(registration, passwordHash: hash, in: transaction.sql)
      var token: SessionToken?
      if confirmsSignUp {
        try await EmailChanges.requestFirst(registration.email, for: id, in: transaction)
      } else {
        token = try await Sessions.open(for: id, from: origin, in: transaction.sql)
      }
      if let key {
        // Stored without the token: only a hash of the token is stored anywhere.
        try await IdempotencyKeys.record([(key, 201, [])], in: transaction.sql)
      }
      return (id, username, token)
    }
    if let opened { return try answer(opened.id, opened.username, opened.token, to: request) }
    // A repeated request: with the right password it gets a session of the account that the first one opened.
    let known = try await Sessions.authenticate(
      email: registration.email, password: registration.password, from: context.client, hasher: hasher,
      attempts: attempts, in: pool)
    let token: SessionToken?
    do {
      token = try await jobs.transaction { try await Sessions.open(for: known, from: origin, in: $0.sql) }
    } catch let error as SocialError where error.code == .emailNotConfirmed {
      token = nil
    }
    let username = try await Accounts.own(known.account, in: pool).profile.username
    return try answer(known.account, username, token, to: request)
  }

  private func answer(
    _ id: Int, _ username: String, _ token: SessionToken?, to request: Request
  ) throws -> Answer {
    let isKept = request.wantsCookie
    var answer = try Answer(
      .created,
      Opened(id: id, username: username, isConfirmed: token != nil, token: isKept ? nil : token?.text))
    if isKept, let token { answer.headers.append(cookie.keep(token)) }
    return answer
  }

  private struct Credentials: Decodable {
    var email: String
    var password: String
  }

  private struct Token: Encodable {
    /// nil for a cookie session.
    var token: String?
  }

  /// A repeated request opens another session: tokens are not stored, so the first one cannot be sent again.
  @Sendable private func signIn(_ request: Request, _ context: APIContext) async throws -> Answer {
    let credentials = try await RequestBody(request, context).decode(Credentials.self)
    let known = try await Sessions.authenticate(
      email: credentials.email, password: credentials.password, from: context.client, hasher: hasher,
      attempts: attempts, in: pool)
    let origin = SessionOrigin(context.client, client: request.headers[.userAgent])
    let token = try await jobs.transaction { try await Sessions.open(for: known, from: origin, in: $0.sql) }
    guard request.wantsCookie else { return try Answer(.created, Token(token: token.text)) }
    var answer = try Answer(.created, Token())
    answer.headers.append(cookie.keep(token))
    return answer
  }

  @Sendable private func signOut(_ request: Request, _ context: APIContext) async throws -> Answer {
    let session = try context.signedIn
    try await jobs.transaction { try await Sessions.close(session.token, in: $0.sql) }
    return context.cookieToken == nil ? .noContent : .noContent(cookie.forget)
  }
}
