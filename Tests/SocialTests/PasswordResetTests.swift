import CurlClient
import DurableJobs
import DurableJobsPostgres
import DurableJobsTesting
import Foundation
import LibPQClient
import Locking
import Logging
import MailTestSupport
import PrivateServers
import Reactor
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct PasswordResetTests {
  private let weak = (logarithm: 4, blockSize: 1, parallelism: 1)

  private func open(_ name: String, email: String? = nil, in app: App) async throws -> Int {
    try await app.pool.query(
      """
      INSERT INTO accounts (username, email, password_hash) VALUES (\(name), \(email ?? "\(name)@example.org"), 'none')
      RETURNING id
      """)[0].decode(Int.self)
  }

  /// Sends the mails to a server on this machine.
  private func mailer(_ app: App, port: Int) throws -> Mailer {
    let server = try MailServer(url: "smtp://127.0.0.1:\(port)")
    return try self.mailer(app) { message in
      let loop = EventLoop(name: "mail")
      defer { loop.stop() }
      let client = try MailClient(server: server, loop: loop, logger: logger)
      do { try await client.send(message) } catch {
        await client.close()
        throw error
      }
      await client.close()
    }
  }

  private func mailer(_ app: App, post: @escaping Mailer.Post) throws -> Mailer {
    Mailer(
      pool: app.pool, from: try MailAddress("no-reply@example.org"),
      resetLink: try #require(TokenLink("https://app.example/reset?token={token}&from=mail")), post: post)
  }

  /// Serves the mails until none is pending, and runs delayed retries at once.
  private func work(
    _ app: App, _ mailer: Mailer?, logger: Logger = logger, until isDone: () async throws -> Bool
  ) async throws {
    var registry = JobRegistry<PostgresLedger>()
    SocialJobs.register(in: &registry, mailer: mailer)
    let worker = Worker(
      broker: app.broker, ledger: PostgresLedger(pool: app.pool), registry: registry,
      configuration: WorkerConfiguration(queues: [SocialJobs.mailQueue: 2]), logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await worker.run() }
      try await eventually {
        await app.broker.promote(SocialJobs.mailQueue)
        return try await isDone()
      }
      group.cancelAll()
    }
  }

  private func isIdle(_ app: App) async throws -> Bool { try await app.count("SELECT count(*) FROM jobs") == 0 }

  private func token(of mail: MailStandIn.Mail) throws -> String {
    let start = try #require(mail.body.range(of: "reset?token="))
    return String(mail.body[start.upperBound...].prefix { $0 != "&" && $0 != "\r" })
  }

  @Test func aMailIsTriedUntilItsServerIsBackUnderOneID() async throws {
    try await App.run { app in
      let ann = try await open("ann", in: app)
      try await app.client.transaction { try await PasswordResets.request("ANN@example.org", in: $0) }
      let port = try FreePort.find()
      try await work(app, try mailer(app, port: port)) {
        try await app.count("SELECT coalesce(max(jsonb_array_length(failures)), 0) FROM jobs") >= 2
      }
      let (id, failures) = try await app.pool.query("SELECT id::text, failures::text FROM jobs")[0].decode(
        String.self, String.self)
      #expect(failures.contains("not reachable") && failures.contains("smtp://127.0.0.1:\(port)"))
      let server = try MailStandIn(port: port)
      defer { server.stop() }
      try await work(app, try mailer(app, port: port)) { try await isIdle(app) }
      let mail = try #require(server.mails.first)
      #expect(server.mails.count == 1 && mail.recipients == ["ann@example.org"])
      #expect(mail.field("Message-ID") == "<\(id)@example.org>")
      let token = try token(of: mail)
      try await app.pool.transaction {
        try await PasswordResets.use(token, passwordHash: "new", from: ClientAddress("192.0.2.1"), in: $0)
      }
      #expect(try await app.count("SELECT count(*) FROM accounts WHERE id = \(ann) AND password_hash = 'new'") == 1)
    }
  }

  /// The mail that arrived may be the first attempt's.
  @Test func aRetryLeavesTheFirstMailsTokenWorkingAndTheUseOfOneEndsBoth() async throws {
    try await App.run { app in
      _ = try await open("ann", in: app)
      let sent = Locked<[MailMessage]>([])
      let mailer = try mailer(app) { message in
        let count = sent.withLock { sent in
          sent.append(message)
          return sent.count
        }
        if count == 1 { throw MailError(.interrupted, "the connection broke off") }
      }
      try await app.client.transaction { try await PasswordResets.request("ann@example.org", in: $0) }
      try await work(app, mailer) { try await isIdle(app) }
      let messages = sent.withLock { $0 }
      #expect(messages.count == 2 && Set(messages.map(\.id)).count == 1)
      let tokens = messages.map { message in
        String(message.text.components(separatedBy: "token=")[1].prefix { $0 != "&" })
      }
      #expect(Set(tokens).count == 2)
      try await app.pool.transaction {
        try await PasswordResets.use(tokens[0], passwordHash: "new", from: ClientAddress("192.0.2.1"), in: $0)
      }
      for token in tokens {
        let again = try await code {
          try await app.pool.transaction {
            try await PasswordResets.use(token, passwordHash: "newer", from: ClientAddress("192.0.2.1"), in: $0)
          }
        }
        #expect(again == .resetExpired)
      }
      #expect(try await app.count("SELECT count(*) FROM accounts WHERE password_hash = 'new'") == 1)
    }
  }

  @Test func oneOfManyTokensThatAreUsedAtOnceWorks() async throws {
    try await App.run { app in
      let ann = try await open("ann", in: app)
      var tokens: [SessionToken] = []
      for _ in 0..<6 {
        tokens.append(try await app.pool.transaction { try await PasswordResets.issue(for: ann, in: $0) })
      }
      let codes = try await withThrowingTaskGroup(of: SocialError.Code?.self) { group in
        for token in tokens + tokens {
          group.addTask {
            try await code {
              try await app.pool.transaction {
                try await PasswordResets.use(
                  token.text, passwordHash: token.text, from: ClientAddress("192.0.2.1"), in: $0)
              }
            }
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(codes.filter { $0 == nil }.count == 1 && codes.filter { $0 == .resetExpired }.count == 11)
    }
  }

  @Test func aTokenIsNowhereButInItsMail() async throws {
    try await App.run { app in
      let ann = try await open("ann", in: app)
      let sent = Locked<[MailMessage]>([])
      let log = Locked<[String]>([])
      let mailer = try mailer(app) { message in
        sent.withLock { $0.append(message) }
        if sent.withLock({ $0.count }) == 1 { throw MailError(.interrupted, "the connection broke off") }
      }
      try await app.client.transaction { try await PasswordResets.request("ann@example.org", in: $0) }
      #expect(try await app.pool.query("SELECT payload FROM jobs")[0].decode(String.self) == #"{"account":\#(ann)}"#)
      try await work(app, mailer, logger: Logger(label: "mail") { _ in LogRecorder(log) }) { try await isIdle(app) }
      let tokens = sent.withLock { $0 }.map { String($0.text.components(separatedBy: "token=")[1].prefix(43)) }
      #expect(tokens.count == 2 && tokens.allSatisfy { SessionToken($0) != nil })
      let logged = log.withLock { $0.joined() }
      for token in tokens {
        #expect(!logged.contains(token))
        for table in ["jobs", "ended_jobs", "dead_jobs", "password_resets", "sign_in_attempts", "idempotency_keys"] {
          let found = try await app.count(
            "SELECT count(*) FROM \(unescaped: table) t WHERE t::text LIKE '%' || \(token) || '%'")
          #expect(found == 0, "\(table)")
        }
      }
      #expect(logged.contains("the connection broke off") && !logged.contains("ann@example.org"))
    }
  }

  @Test func whoHasNoAddressGetsNoMail() async throws {
    try await App.run { app in
      let imported = try await app.account("imported")
      let odd = try await open("odd", email: "\"odd>\"@example.org", in: app)
      let sent = Locked(0)
      let mailer = try mailer(app) { _ in sent.withLock { $0 += 1 } }
      try await app.client.transaction { transaction in
        try await PasswordResets.request("nobody@example.org", in: transaction)
        for account in [imported, odd, 4711] { try await transaction.enqueue(PasswordResetMail(account: account)) }
      }
      try await work(app, mailer) { try await isIdle(app) }
      #expect(sent.withLock { $0 } == 0)
      #expect(try await app.count("SELECT count(*) FROM password_resets") == 0)
      #expect(try await app.count("SELECT count(*) FROM dead_jobs") == 0)
    }
  }

  @Test func aWorkerWithoutAServerSaysSo() async throws {
    try await App.run { app in
      _ = try await open("ann", in: app)
      try await app.client.transaction { try await PasswordResets.request("ann@example.org", in: $0) }
      try await work(app, nil) { try await app.count("SELECT count(*) FROM jobs WHERE failures IS NOT NULL") == 1 }
      let failures = try await app.pool.query("SELECT failures::text FROM jobs")[0].decode(String.self)
      #expect(failures.contains("FANMILL_MAIL_URL"))
    }
  }

  /// A sign-in with the old password, checked just before the reset, fails all the same.
  @Test func aSignInThatAResetOvertakesOpensNothing() async throws {
    let hasher = PasswordHasher(threads: 1, limit: 8, parameters: weak)
    try await App.run { app in
      let hash = try await hasher.hash("old password", for: "c")
      let ann = try await open("ann", in: app)
      try await app.pool.execute("UPDATE accounts SET password_hash = \(hash)")
      let known = try await Sessions.authenticate(
        email: "ann@example.org", password: "old password", from: ClientAddress("192.0.2.1"), hasher: hasher,
        attempts: AttemptBook(pool: app.pool),
        in: app.pool)
      let token = try await app.pool.transaction { try await PasswordResets.issue(for: ann, in: $0) }
      // Held open: the sign-in waits for it to end, and then sees its effect.
      let held = try await app.hold {
        try await PasswordResets.use(token.text, passwordHash: "new", from: ClientAddress("192.0.2.1"), in: $0.sql)
      }
      async let late = code { _ = try await app.pool.transaction { try await Sessions.open(for: known, in: $0) } }
      try await held.commit()
      #expect(try await late == .wrongCredentials)
      #expect(try await app.count("SELECT count(*) FROM sessions") == 0)
    }
  }

  @Test func tokensAreSweptADayAfterTheyExpired() async throws {
    try await App.run { app in
      let ann = try await open("ann", in: app)
      for _ in 0..<3 { _ = try await app.pool.transaction { try await PasswordResets.issue(for: ann, in: $0) } }
      try await app.pool.execute(
        """
        UPDATE password_resets SET expires_at = now() - interval '23 hours'
        WHERE token_hash = (SELECT min(token_hash::text)::bytea FROM password_resets)
        """)
      try await app.client.enqueue(SessionSweep())
      try await app.drain()
      #expect(try await app.count("SELECT count(*) FROM password_resets") == 3)
      try await app.pool.execute("UPDATE password_resets SET expires_at = expires_at - interval '2 hours'")
      try await app.client.enqueue(SessionSweep())
      try await app.drain()
      #expect(try await app.count("SELECT count(*) FROM password_resets") == 2)
    }
  }

  @Test(arguments: [
    "", "https://app.example/reset", "ftp://app.example/{token}", "/reset/{token}", "https://",
    "https://app.example/re set/{token}", "https://app.example/{token}\r\nBcc: x", "javascript:{token}",
  ])
  func isNoLink(_ template: String) { #expect(TokenLink(template) == nil) }
}
