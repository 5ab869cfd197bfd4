#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// `me`: the owner's view of an account.
struct OwnAccountRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool
  let hasher: PasswordHasher
  let attempts: AttemptBook
  let sendsMail: Bool
  let cookie: SessionCookie

  func add(to group: RouterGroup<APIContext>) {
    group.on(.changeAccount, use: change)
    group.on(.deleteAccount, use: delete)
    group.on(.confirmDeletion, use: confirmDeletion)
    group.on(.changePassword, use: changePassword)
    group.on(.changeEmail, use: changeEmail)
    group.on(.listSessions, use: sessions)
    group.on(.endOtherSessions, use: closeOthers)
    group.on(.endSession, use: close)
  }

  /// - Parameter group: a group that resolves no sessions. Apps request `me` first, and one statement finds account and
  ///   session.
  func addOwn(to group: RouterGroup<APIContext>) { group.on(.readAccount, use: own) }

  @Sendable private func own(_ request: Request, _ context: APIContext) async throws -> Answer {
    let account = try await Accounts.own(try context.sessionToken(of: request), in: pool)
    return try Answer(.ok, ProfileView(account))
  }

  private struct Change: Decodable {
    var username: String?
    var name: String?
    var major: String?
    var bio: String?
    var avatar: String??
    var adult: Bool?

    private enum CodingKeys: CodingKey { case username, name, major, bio, avatar, adult }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      username = try container.decodeIfPresent(String.self, forKey: .username)
      name = try container.decodeIfPresent(String.self, forKey: .name)
      major = try container.decodeIfPresent(String.self, forKey: .major)
      bio = try container.decodeIfPresent(String.self, forKey: .bio)
      adult = try container.decodeIfPresent(Bool.self, forKey: .adult)
      // null removes the picture; a missing field keeps it.
      avatar = container.contains(.avatar) ? .some(try container.decode(String?.self, forKey: .avatar)) : nil
    }
  }

  @Sendable private func change(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let change = try await RequestBody(request, context).decode(Change.self)
    let changes = try AccountChanges(
      username: change.username, name: change.name, major: change.major, bio: change.bio, avatar: change.avatar,
      isAdult: change.adult)
    let account = try await jobs.transaction { transaction in
      try await Accounts.change(viewer.id, changes, in: transaction.sql)
      return try await Accounts.own(viewer.id, in: transaction.sql)
    }
    return try Answer(.ok, ProfileView(account))
  }

  // MARK: Password

  private struct PasswordChange: Decodable {
    var old: String
    var new: String
  }

  @Sendable private func changePassword(_ request: Request, _ context: APIContext) async throws -> Answer {
    let session = try context.signedIn
    let wanted = try await RequestBody(request, context).decode(PasswordChange.self)
    let new = try NewPassword(wanted.new, field: "new")
    let old = try await Passwords.check(
      wanted.old, "old", of: session.viewer.id, from: context.client, hasher: hasher, attempts: attempts, in: pool)
    let hash = try await hasher.hash(new.text, for: context.client.key)
    try await jobs.transaction { transaction in
      try await Passwords.change(old, toHash: hash, session: session.token, in: transaction.sql)
    }
    return .noContent
  }

  // MARK: Email address

  private struct EmailChange: Decodable {
    var email: String
    /// The account's password, if it has one.
    var password: String?
  }

  @Sendable private func changeEmail(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let wanted = try await RequestBody(request, context).decode(EmailChange.self)
    let email = try EmailChanges.address(wanted.email)
    guard sendsMail else {
      throw SocialError(
        .mailNotConfigured,
        "this server sends no mail (FANMILL_MAIL_URL is not set): ask its operator, `fanmill accounts set-email NAME "
          + "ADDRESS`"
      )
    }
    let password = try await Passwords.checkIfAny(
      wanted.password, of: viewer.id, from: context.client, hasher: hasher, attempts: attempts, in: pool)
    try await EmailChanges.allow(email, from: context.client, attempts: attempts)
    try await jobs.transaction { try await EmailChanges.request(email, for: viewer.id, password, in: $0) }
    return Answer(status: .accepted, body: [])
  }

  // MARK: Deletion

  private struct Deletion: Decodable {
    /// The account's password, if it has one.
    var password: String?
  }

  /// Deletes the account. If it has no password to verify the owner with, mails the owner instead.
  @Sendable private func delete(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let wanted = try await RequestBody(request, context).decode(Deletion.self)
    let password = try await Passwords.checkIfAny(
      wanted.password, of: viewer.id, from: context.client, hasher: hasher, attempts: attempts, in: pool)
    if let password {
      try await jobs.transaction { try await Deletions.delete(viewer.id, password, in: $0) }
      return context.cookieToken == nil ? .noContent : .noContent(cookie.forget)
    }
    guard sendsMail else {
      throw SocialError(
        .mailNotConfigured,
        "this server sends no mail (FANMILL_MAIL_URL is not set): ask its operator, `fanmill accounts delete NAME`")
    }
    try await Deletions.allow(viewer.id, from: context.client, attempts: attempts)
    try await jobs.transaction { try await Deletions.request(viewer.id, in: $0) }
    return Answer(status: .accepted, body: [])
  }

  @Sendable private func confirmDeletion(_ request: Request, _ context: APIContext) async throws -> Answer {
    try await Deletions.confirm(try context.parameter("token"), from: context.client, attempts: attempts) { act in
      _ = try await jobs.once(request, saying: [], by: 0) { transaction in
        try await act(transaction)
        return .noContent
      }
    }
    return .noContent
  }

  // MARK: Sessions

  private struct SessionView: Encodable {
    let id: String
    let client: Nullable<String>
    let network: Nullable<String>
    let createdAt: Date
    let expiresAt: Date
    let isCurrent: Bool

    init(_ session: OwnSession) {
      id = session.id
      client = Nullable(session.client)
      network = Nullable(session.network)
      createdAt = session.createdAt
      expiresAt = session.expiresAt
      isCurrent = session.isCurrent
    }
  }

  @Sendable private func sessions(_ request: Request, _ context: APIContext) async throws -> Answer {
    let session = try context.signedIn
    let sessions = try await Sessions.own(session.viewer.id, current: session.token, in: pool)
    return try Answer(.ok, PageView(try request.part(of: sessions), SessionView.init))
  }

  /// Ends all sessions except the current one.
  @Sendable private func closeOthers(_ request: Request, _ context: APIContext) async throws -> Answer {
    let session = try context.signedIn
    try await jobs.transaction { transaction in
      try await Sessions.closeOthers(session.viewer.id, than: session.token, in: transaction.sql)
    }
    return .noContent
  }

  @Sendable private func close(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let id = try context.parameter("id")
    try await jobs.transaction { try await Sessions.close(id, of: viewer.id, in: $0.sql) }
    return .noContent
  }
}
