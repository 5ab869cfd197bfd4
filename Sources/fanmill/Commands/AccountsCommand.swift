import ArgumentParser
import DurableJobsCLI
import LibPQClient
import Social

struct AccountsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "accounts", abstract: "Act for accounts.", subcommands: [Token.self, Reset.self])

  struct Token: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "token",
      abstract: "Issue a session token for an account, also for one that was imported and has no password.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The account's username.") var name: String

    func run() async throws {
      try await common.issue(for: name) { try await Sessions.open(for: $0, in: $1) }
    }
  }

  struct Reset: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "reset", abstract: "Issue a token for a new password, to be passed on to the account's owner.",
      discussion: """
        It works once, within an hour: POST /v1/password-resets/TOKEN with {"password": …}. All sessions of the \
        account end with it. The API mails such tokens where it has a mail server (FANMILL_MAIL_URL).
        """)
    @OptionGroup var common: CommonOptions
    @Argument(help: "The account's username.") var name: String

    func run() async throws {
      try await common.issue(for: name) { try await PasswordResets.issue(for: $0, in: $1) }
    }
  }
}

private struct Issued: Encodable {
  let token: String
  let username: String
}

extension CommonOptions {
  /// Makes a token for the account called `name` and prints it.
  fileprivate func issue(
    for name: String, _ make: @escaping @Sendable (Int, PostgresTransaction) async throws -> SessionToken
  ) async throws {
    try await withPostgres { pool in
      let token: SessionToken
      do {
        token = try await pool.transaction { transaction in
          try await make(try await Accounts.id(of: name, in: transaction), transaction)
        }
      } catch let error as SocialError where error.code == .notFound {
        throw SocialError(.notFound, "there is no account '\(name)'")
      }
      try output.one(Issued(token: token.text, username: name)) { $0.token }
    }
  }
}
