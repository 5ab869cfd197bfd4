import ArgumentParser
import DurableJobsAdmin
import DurableJobsCLI
import LibPQClient
import Social
import SocialAdmin

struct AccountsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "accounts", abstract: "List accounts, act for their owners, suspend, restore and delete them.",
    subcommands: [
      List.self, Show.self, Token.self, Reset.self, SetEmail.self, Grant.self, Refund.self, Purchases.self,
      Suspend.self, Restore.self, Delete.self,
    ])

  struct List: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List accounts, the newest first.")
    @OptionGroup var common: CommonOptions
    @OptionGroup var page: PageOptions
    @Option(help: "Only accounts whose username or email address begins with this.") var query: String?
    @Flag(help: "Only suspended accounts.") var suspended = false

    func run() async throws {
      try await common.withDatabase { database in
        let accounts = try await AccountAdmin(database).list(
          beginningWith: query, isSuspended: suspended ? true : nil, before: page.before, limit: page.limit)
        try common.output.list(accounts.items, next: accounts.next, empty: "there are no accounts") {
          Table(accounts: $0)
        }
      }
    }
  }

  struct Show: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show an account's state, address, sessions and former names.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The account's username.") var name: String

    func run() async throws {
      try await common.withDatabase { database in
        try common.output.one(try await AccountAdmin(database).show(name)) { $0.text }
      }
    }
  }

  struct SetEmail: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "set-email", abstract: "Set an account's email address without confirming it.",
      discussion: "An imported account has none; with one, its owner chooses a password by mail.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The account's username.") var name: String
    @Argument(help: "The address.") var address: String

    func run() async throws {
      try await common.withDatabase { database in
        let account = try await AccountAdmin(database).setEmail(address, of: name, by: .terminal)
        try common.output.one(account) { "\($0.username) has the address \($0.email ?? "")" }
      }
    }
  }

  struct Grant: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "grant", abstract: "Let an account register more celebs.",
      discussion: "A receipt grants once: the command may be repeated.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The account's username.") var name: String
    @Option(help: "How many more celebs: 1 to 1,000.") var celebs: Int
    @Option(help: "The grant's unique name, such as an order number.") var receipt: String

    func run() async throws {
      try await common.withDatabase { database in
        let report = try await AccountAdmin(database).grant(celebs, receipt: receipt, to: name, by: .terminal)
        try common.output.one(report) {
          $0.outcome == "granted"
            ? "\(name) may register \(celebs) more celebs"
            : "the receipt \(receipt) was already used: nothing has changed"
        }
      }
    }
  }

  struct Refund: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "refund", abstract: "Take back what a receipt granted.",
      discussion: "Registered celebs stay; more can be added once the account is below its limit again.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The account's username.") var name: String
    @Option(help: "The receipt passed to 'grant'.") var receipt: String

    func run() async throws {
      try await common.withDatabase { database in
        let report = try await AccountAdmin(database).refund(receipt: receipt, of: name, by: .terminal)
        try common.output.one(report) {
          $0.outcome == "refunded"
            ? "\(receipt) is refunded for \(name)" : "\(receipt) was refunded before: nothing has changed"
        }
      }
    }
  }

  struct Purchases: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "purchases", abstract: "List an account's purchases and grants.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The account's username.") var name: String

    func run() async throws {
      try await common.withDatabase { database in
        let items = try await AccountAdmin(database).purchases(of: name).items
        try common.output.list(items, next: nil, empty: "\(name) has no purchases or grants") {
          Table(purchases: $0)
        }
      }
    }
  }

  struct Suspend: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "suspend", abstract: "Lock an account's owner out, and hide everything it wrote.",
      discussion: "Its sessions end, and signing in is refused. 'restore' brings everything back as it was.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The account's username.") var name: String
    @OptionGroup var why: ReasonOption

    func run() async throws {
      try await common.withJobs { database, jobs in
        let account = try await AccountAdmin(database).suspend(
          name, because: why.reason, by: .terminal, through: jobs)
        try common.output.one(account) { "\($0.username) is suspended" }
      }
    }
  }

  struct Restore: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "restore", abstract: "Reopen a suspended account, with everything it wrote.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The account's username.") var name: String
    @OptionGroup var why: ReasonOption

    func run() async throws {
      try await common.withJobs { database, jobs in
        let account = try await AccountAdmin(database).restore(
          name, because: why.reason, by: .terminal, through: jobs)
        try common.output.one(account) { "\($0.username) is \($0.state)" }
      }
    }
  }

  struct Delete: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "delete", abstract: "Delete an account with everything in it. This cannot be undone.",
      discussion: """
        It disappears for everyone at once; a worker removes what it wrote. Its messages stay with their recipients, \
        from 'deleted account', and its hearts with the celebs.
        """)
    @OptionGroup var common: CommonOptions
    @OptionGroup var confirmation: Confirmation
    @Argument(help: "The account's username.") var name: String
    @OptionGroup var why: ReasonOption

    private struct Deleted: Encodable { let username: String }

    func run() async throws {
      try await common.withJobs { database, jobs in
        let accounts = AccountAdmin(database)
        let username = try await accounts.show(name).username
        try confirmation.ask("delete the account \(username)")
        try await accounts.delete(username, because: why.reason, by: .terminal, through: jobs)
        try common.output.one(Deleted(username: username)) {
          "\($0.username) is deleted; a worker removes what it wrote"
        }
      }
    }
  }

  struct Token: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "token",
      abstract: "Issue a session token for an account, including an imported one without a password.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The account's username.") var name: String

    func run() async throws {
      try await common.issue(for: name) { try await Sessions.open(for: $0, in: $1) }
    }
  }

  struct Reset: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "reset", abstract: "Issue a password reset token to pass on to the account's owner.",
      discussion: """
        It works once, within an hour: POST /v1/password-resets/TOKEN with {"password": …}. Using it ends all sessions \
        of the account. The API mails such tokens itself if it has a mail server (FANMILL_MAIL_URL).
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
  /// Issues a token for the account called `name` and prints it.
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

extension Table {
  fileprivate init(accounts: [AccountRecord]) {
    self.init(
      [
        .number("id"), .elastic("username"), .elastic("name"), .elastic("email"), .state(), .number("sessions"),
        .text("opened"),
      ],
      rows: accounts.map { account in
        [
          String(account.id), account.username, account.name, account.email ?? "", account.state,
          account.sessions.grouped, account.createdAt.away(),
        ]
      })
  }
}

extension Table {
  fileprivate init(purchases: [PurchaseRecord]) {
    self.init(
      [
        .text("source"), .elastic("receipt"), .elastic("product"), .number("celebs"), .text("granted"),
        .text("refunded"),
      ],
      rows: purchases.map { purchase in
        [
          purchase.source, purchase.receipt, purchase.product ?? "", purchase.celebs.grouped,
          purchase.grantedAt?.away() ?? "", purchase.refundedAt?.away() ?? "",
        ]
      })
  }
}

extension AccountRecord {
  fileprivate var text: String {
    var lines = [
      ("id", String(id)), ("username", username), ("name", name), ("email", email ?? "none"), ("state", state),
      ("password", hasPassword ? "set" : "none"), ("sessions", sessions.grouped),
      ("pictures", "\(pictures.grouped) bytes"), ("created at", createdAt.short),
    ]
    if let reason { lines.append(("reason", reason)) }
    if !formerNames.isEmpty { lines.append(("former names", formerNames.joined(separator: ", "))) }
    return facts(lines)
  }
}
