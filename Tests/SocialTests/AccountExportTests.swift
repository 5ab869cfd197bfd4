import CurlClient
import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Locking
import Logging
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(3))) struct AccountExportTests {
  /// Serves the jobs of exports until none is pending.
  private func drain(_ app: App, _ store: any MediaStore, mails: Locked<[String]>) async throws {
    let mailer = Mailer(
      pool: app.pool, from: try MailAddress("no-reply@example.org"),
      resetLink: try #require(TokenLink("https://app.example/reset?token={token}")),
      exportLink: TokenLink("https://api.example/v1/account-exports/{token}")
    ) { message in mails.withLock { $0.append(message.text) } }
    var registry = JobRegistry<PostgresLedger>()
    SocialJobs.register(in: &registry, mailer: mailer, store: store)
    let worker = Worker(
      broker: app.broker, ledger: PostgresLedger(pool: app.pool), registry: registry,
      configuration: WorkerConfiguration(queues: Dictionary(uniqueKeysWithValues: registry.queues.map { ($0, 2) })),
      logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await worker.run() }
      try await app.waitForJobs()
      group.cancelAll()
    }
  }

  private func token(in mail: String) throws -> String {
    let start = try #require(mail.range(of: "account-exports/"))
    return String(mail[start.upperBound...].prefix(43))
  }

  private func request(_ account: Int, _ app: App) async throws {
    try await app.client.transaction { try await AccountExports.request(account, in: $0) }
  }

  private func file(_ token: String, _ app: App) async throws -> MediaFile {
    try await AccountExports.file(
      of: token, from: ClientAddress("192.0.2.1"), attempts: AttemptBook(pool: app.pool, memory: .zero), in: app.pool)
  }

  @Test func anExportIsMadeMailedFetchedAndSwept() async throws {
    try await FirebaseExport.withFolder { folder in
      let store = MediaFolder(path: folder.appending(path: "store").path)
      try await App.run { app in
        let ann = try await app.account("ann")
        let bob = try await app.account("bob")
        try await app.pool.execute("UPDATE accounts SET email = 'ann@example.org' WHERE id = \(ann)")
        for number in 0..<3 { try await app.post("post \(number)", by: ann) }
        try await app.follow(bob, by: ann)
        _ = try await app.pool.transaction {
          try await Messages.send(try MessageDraft(text: "hello \"ann\""), to: "ann", by: bob, in: $0)
        }
        let picture = MediaFile()
        let original = folder.appending(path: "cat.png")
        try Data(FirebaseExport.png(1)).write(to: original)
        try await store.put(original.path, at: picture.original, contentType: "image/png")
        let id = MediaID()
        try await app.pool.execute(
          """
          INSERT INTO media_files (id, hash, content_type, bytes, width, height)
          VALUES (\(picture.id), \([UInt8](repeating: 1, count: 32)), 'image/png', 35, 1, 1)
          """)
        try await app.pool.execute(
          "INSERT INTO media (id, owner_id, file_id) VALUES (\(id.text), \(ann), \(picture.id))")
        let takenDown = MediaID()
        try await app.pool.execute(
          """
          INSERT INTO media (id, owner_id, file_id, taken_down_at)
          VALUES (\(takenDown.text), \(ann), \(picture.id), now())
          """)

        // Requests while one is being made begin no other.
        for _ in 0..<3 { try await request(ann, app) }
        #expect(try await app.count("SELECT count(*) FROM account_exports") == 1)
        let mails = Locked<[String]>([])
        try await drain(app, store, mails: mails)
        let mail = try #require(mails.withLock { $0.first })
        #expect(mails.withLock { $0.count } == 1)
        let token = try self.token(in: mail)
        let file = try await self.file(token, app)
        guard case .file(let path, _) = try await store.source(of: file.archive) else {
          Issue.record("a folder has files")
          return
        }
        let bytes = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
        for part in ["posts.json", "\"post 2\"", "hello \\\"ann\\\"", "following.json", "pictures/\(id.text).png"] {
          #expect(bytes.contains(part), "\(part)")
        }
        #expect(bytes.contains(takenDown.text) && !bytes.contains("pictures/\(takenDown.text)"))
        // No token is in the database.
        let texts = try await app.pool.query(
          "SELECT payload::text FROM jobs UNION ALL SELECT t::text FROM account_exports t"
        )
        .decode(String.self)
        #expect(!texts.contains { $0.contains(token) })
        #expect(try await code { _ = try await self.file(SessionToken().text, app) } == .notFound)
        #expect(try await MediaAudit.run(store, on: app.pool).orphaned.isEmpty)

        // Another request on the same day sends another link to the same file.
        try await request(ann, app)
        try await drain(app, store, mails: mails)
        #expect(mails.withLock { $0.count } == 2)
        #expect(try await app.count("SELECT count(*) FROM account_exports") == 1)

        try await app.pool.execute("UPDATE account_exports SET expires_at = now() - interval '1 second'")
        #expect(try await code { _ = try await self.file(token, app) } == .notFound)
        try await app.client.enqueue(MediaSweep())
        try await drain(app, store, mails: mails)
        #expect(try await app.count("SELECT count(*) FROM account_export_tokens") == 0)
        await #expect(throws: MediaStoreError.self) { _ = try await store.source(of: file.archive) }
      }
    }
  }

  @Test func anExportTellsNoNameOfWhoBlockedTheAccount() async throws {
    try await FirebaseExport.withFolder { folder in
      let store = MediaFolder(path: folder.appending(path: "store").path)
      try await App.run { app in
        let (ann, bob) = (try await app.account("ann"), try await app.account("bob"))
        try await app.pool.execute("UPDATE accounts SET email = 'ann@example.org' WHERE id = \(ann)")
        _ = try await app.pool.transaction {
          try await Messages.send(try MessageDraft(text: "hello"), to: "ann", by: bob, in: $0)
        }
        try await app.pool.transaction { try await Blocks.mute(bob, by: ann, in: $0) }
        try await app.client.transaction { try await Blocks.block(ann, by: bob, in: $0) }
        try await app.pool.execute("UPDATE accounts SET username = 'robert' WHERE id = \(bob)")
        try await request(ann, app)
        let mails = Locked<[String]>([])
        try await drain(app, store, mails: mails)
        let mail = try #require(mails.withLock { $0.first })
        let file = try await self.file(try token(in: mail), app)
        guard case .file(let path, _) = try await store.source(of: file.archive) else {
          Issue.record("a folder has files")
          return
        }
        let bytes = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
        #expect(!bytes.contains("robert"))
        #expect(bytes.components(separatedBy: "\"~\(bob)\"").count == 3)
      }
    }
  }

  @Test func anExportThatWasGivenUpIsBegunAgainAfterADay() async throws {
    try await App.run { app in
      let ann = try await app.account("ann")
      try await app.pool.execute("UPDATE accounts SET email = 'ann@example.org' WHERE id = \(ann)")
      try await request(ann, app)
      try await app.pool.execute("DELETE FROM jobs")
      try await request(ann, app)
      #expect(try await app.count("SELECT count(*) FROM jobs") == 0)
      try await app.pool.execute("UPDATE account_exports SET requested_at = requested_at - interval '25 hours'")
      for _ in 0..<2 { try await request(ann, app) }
      #expect(try await app.count("SELECT count(*) FROM jobs WHERE kind = 'accounts.export'") == 1)
      #expect(try await app.count("SELECT count(*) FROM account_exports") == 1)
    }
  }

  @Test func theLargestArchiveHasTimeToReachABucket() throws {
    let megabytes = 4295 / S3Store.configuration.timeout.components.seconds
    #expect(megabytes < 5, "\(megabytes) MB/s")
    let timeout = try #require(AccountExport.timeout)
    #expect(S3Store.configuration.timeout < timeout)
  }

  @Test func anAccountWithoutAnAddressGetsNone() async throws {
    try await App.run { app in
      let ann = try await app.account("ann")
      #expect(try await code { try await request(ann, app) } == .noEmail)
      #expect(try await app.count("SELECT count(*) FROM account_exports") == 0)
    }
  }

  @Test func aDeletedAccountLeavesNoExport() async throws {
    try await FirebaseExport.withFolder { folder in
      let store = MediaFolder(path: folder.appending(path: "store").path)
      try await App.run { app in
        let ann = try await app.account("ann")
        try await app.pool.execute("UPDATE accounts SET email = 'ann@example.org' WHERE id = \(ann)")
        try await request(ann, app)
        let mails = Locked<[String]>([])
        try await drain(app, store, mails: mails)
        let file = try await self.file(try token(in: try #require(mails.withLock { $0.first })), app)
        try await app.client.transaction { try await Deletions.delete(ann, in: $0) }
        try await drain(app, store, mails: mails)
        try await app.client.enqueue(MediaSweep())
        try await drain(app, store, mails: mails)
        #expect(try await LeftoverAudit.run(on: app.pool).isClean)
        #expect(try await app.count("SELECT count(*) FROM account_exports") == 0)
        await #expect(throws: MediaStoreError.self) { _ = try await store.source(of: file.archive) }
      }
    }
  }
}
