import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// `password-resets`: for owners who have forgotten their password.
struct PasswordResetRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool
  let attempts: AttemptBook
  let hasher: PasswordHasher
  let sendsMail: Bool

  func add(to group: RouterGroup<APIContext>) {
    group.on(.requestPasswordReset, use: ask)
    group.on(.resetPassword, use: choose)
  }

  private struct Wanted: Decodable { var email: String }

  /// The response is the same whether or not an account has the address.
  @Sendable private func ask(_ request: Request, _ context: APIContext) async throws -> Answer {
    guard sendsMail else {
      throw SocialError(
        .mailNotConfigured,
        "this server sends no mail (FANMILL_MAIL_URL is not set): ask its operator for a token, `fanmill accounts "
          + "reset NAME`"
      )
    }
    let body = try await RequestBody(request, context)
    let email = try body.decode(Wanted.self).email
    try await PasswordResets.allow(email, from: context.client, attempts: attempts)
    return try await jobs.once(request, body, by: 0) { transaction in
      try await PasswordResets.request(email, in: transaction)
      return Answer(status: .accepted, body: [])
    }
  }

  private struct Choice: Decodable { var password: String }

  @Sendable private func choose(_ request: Request, _ context: APIContext) async throws -> Answer {
    let token = try context.parameter("token")
    let password = try NewPassword(try await RequestBody(request, context).decode(Choice.self).password)
    guard try await PasswordResets.isUsable(token, from: context.client, attempts: attempts, in: pool) else {
      // Nothing is hashed for a bad token, but the request may repeat one that has succeeded.
      return try await jobs.once(request, saying: [], by: 0) { _ in throw PasswordResets.expired }
    }
    let hash = try await hasher.hash(password.text, for: context.client.key)
    // The fingerprint excludes the password: a fast hash of it would be worth guessing at.
    return try await jobs.once(request, saying: [], by: 0) { transaction in
      try await PasswordResets.use(token, passwordHash: hash, from: context.client, in: transaction.sql)
      return .noContent
    }
  }
}
