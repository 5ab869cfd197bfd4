import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// `email-confirmations`: confirming an address, and asking for another mail.
struct EmailConfirmationRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool
  let attempts: AttemptBook
  let sendsMail: Bool

  func add(to group: RouterGroup<APIContext>) {
    group.on(.requestConfirmation, use: askAgain)
    group.on(.confirmEmail, use: confirm)
  }

  private struct Wanted: Decodable { var email: String }

  /// The response is the same whether or not an account is waiting for the address.
  @Sendable private func askAgain(_ request: Request, _ context: APIContext) async throws -> Answer {
    guard sendsMail else {
      throw SocialError(.mailNotConfigured, "this server sends no mail (FANMILL_MAIL_URL is not set): ask its operator")
    }
    let body = try await RequestBody(request, context)
    let email = try EmailChanges.address(try body.decode(Wanted.self).email)
    try await EmailChanges.allow(email, from: context.client, attempts: attempts)
    return try await jobs.once(request, body, by: 0) { transaction in
      try await EmailChanges.requestAgain(email, in: transaction)
      return Answer(status: .accepted, body: [])
    }
  }

  @Sendable private func confirm(_ request: Request, _ context: APIContext) async throws -> Answer {
    let token = try context.parameter("token")
    try await EmailChanges.confirm(token, from: context.client, attempts: attempts) { act in
      _ = try await jobs.once(request, saying: [], by: 0) { transaction in
        try await act(transaction)
        return .noContent
      }
    }
    return .noContent
  }
}
