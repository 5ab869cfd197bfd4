import ArgumentParser
import Postgres
import Social

struct AccountsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "accounts", abstract: "Act for accounts.", subcommands: [Token.self])

  struct Token: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      abstract: "Issue a session token for an account, also for one that was imported and has no password.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The account's username.") var name: String

    struct Issued: Encodable {
      let token: String
      let username: String
    }

    func run() async throws {
      try await common.withPostgres { pool in
        let token: SessionToken
        do {
          token = try await pool.transaction { transaction in
            try await Sessions.open(for: try await Accounts.id(of: name, in: transaction), in: transaction)
          }
        } catch let error as SocialError where error.code == .notFound {
          throw SocialError(.notFound, "there is no account '\(name)'")
        }
        try common.output.one(Issued(token: token.text, username: name)) { $0.token }
      }
    }
  }
}
