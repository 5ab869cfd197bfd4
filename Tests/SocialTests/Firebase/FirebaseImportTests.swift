import DurableJobs
import Foundation
import LibPQClient
import Locking
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(5))) struct FirebaseImportTests {
  /// A run that is cut off, as by a kill: its transaction may or may not have been committed.
  private struct Killed: Error {}

  private func run(_ files: FirebaseImport, on app: App, to store: any MediaStore) async throws -> FirebaseImport.Report
  {
    try await files.run(on: app.pool, store: store) { body in try await app.client.transaction { try await body($0) } }
  }

  private func expectExact(_ app: App, _ store: any MediaStore, _ location: SourceLocation = #_sourceLocation)
    async throws
  {
    let feeds = try await FeedAudit.run(on: app.pool)
    #expect(feeds.isExact && feeds.pending == 0, "\(feeds)", sourceLocation: location)
    let notifications = try await NotificationAudit.run(on: app.database)
    #expect(notifications.isExact, "\(notifications)", sourceLocation: location)
    #expect(try await PostCountAudit.run(on: app.pool).isExact, sourceLocation: location)
    #expect(try await FanLevelAudit.run(on: app.pool).isExact, sourceLocation: location)
    let rankings = try await RankingAudit.run(on: app.database)
    #expect(rankings.isExact, "\(rankings)", sourceLocation: location)
    #expect(try await MediaAudit.run(store, on: app.pool).isExact, sourceLocation: location)
    #expect(try await SearchAudit.run(on: app.pool).wrong == 0, sourceLocation: location)
    #expect(try await LeftoverAudit.run(on: app.pool).isClean, sourceLocation: location)
    for table in ["import_auth", "import_waiting", "import_notices", "import_owners"] {
      let left = try await app.count("SELECT count(*) FROM \(unescaped: table)")
      #expect(left == 0, "\(table)", sourceLocation: location)
    }
    // The counts of unread messages have no audit of their own.
    let wrong = try await app.count(
      """
      SELECT (SELECT count(*) FROM inboxes i WHERE i.unread <> (
          SELECT coalesce(sum(c.unread), 0) FROM conversations c WHERE c.owner_id = i.owner_id))
        + (SELECT count(*) FROM conversations c WHERE c.last_id <> (
          SELECT max(id) FROM messages m WHERE m.owner_id = c.owner_id AND m.peer_id = c.peer_id))
      """)
    #expect(wrong == 0, sourceLocation: location)
  }

  private func expectAll(of export: FirebaseExport, on app: App, _ location: SourceLocation = #_sourceLocation)
    async throws
  {
    func count(_ rows: PostgresQuery) async throws -> Int { try await app.count("SELECT count(*) FROM \(rows)") }
    #expect(try await count("accounts WHERE email IS NOT NULL") == export.users.count, sourceLocation: location)
    #expect(try await count("posts") == export.posts.count, sourceLocation: location)
    #expect(try await count("follows") == export.follows, sourceLocation: location)
    #expect(try await count("likes") == export.likes, sourceLocation: location)
    #expect(try await count("comments") == export.comments, sourceLocation: location)
    #expect(try await count("messages") == 2 * export.messages, sourceLocation: location)
    #expect(try await count("celeb_fans") == export.celebs, sourceLocation: location)
    #expect(try await count("hearts") == export.hearts, sourceLocation: location)
    #expect(try await count("media WHERE uses = 1") == export.pictures, sourceLocation: location)
    #expect(try await count("media_files") <= 10, sourceLocation: location)
    #expect(try await count("notifications") == export.notices, sourceLocation: location)
    #expect(try await count("notifications WHERE NOT checked") == export.unread, sourceLocation: location)
    // Comments and likes are in the order of time, and so are posts.
    for order in ["comments PARTITION BY post_id", "likes PARTITION BY account_id", "posts PARTITION BY author_id"] {
      let parts = order.split(separator: " ", maxSplits: 1)
      let wrong = try await app.count(
        """
        SELECT count(*) FROM (
          SELECT created_at, lag(created_at) OVER (\(unescaped: String(parts[1])) ORDER BY id) AS before
          FROM \(unescaped: String(parts[0]))
        ) x WHERE before > created_at
        """)
      #expect(wrong == 0, "\(order)", sourceLocation: location)
    }
  }

  @Test func importsARandomAppAndASecondRunAddsNothing() async throws {
    var generator = SeededGenerator("FirebaseImportTests.importsARandomApp")
    try await FirebaseExport.withFolder { folder in
      let export = try FirebaseExport(users: 40, in: folder, using: &generator)
      let store = MediaFolder(path: folder.appending(path: "store").path)
      try await App.run { app in
        let checked = try await export.files.check()
        #expect(checked.rejected == 0 && checked.rejects == nil)
        #expect(try await app.count("SELECT count(*) FROM accounts") == 0)
        let report = try await run(export.files, on: app, to: store)
        #expect(report.rejected == 0, "\(report)")
        #expect(report[.users].added == export.users.count && report[.posts].added == export.posts.count)
        #expect(report[.follows].added == export.follows && report[.likes].added == export.likes)
        #expect(report[.comments].added == export.comments && report[.messages].added == export.messages)
        #expect(report[.notifications].added == export.notices && report[.celebs].added == export.celebs)
        #expect(report[.pictures].added == export.pictures)
        #expect(!FileManager.default.fileExists(atPath: export.rejects))
        try await expectAll(of: export, on: app)
        try await expectExact(app, store)
        // Nobody is told anything, and no feed waits for a job.
        #expect(try await app.count("SELECT count(*) FROM jobs WHERE kind <> 'media.sizes'") == 0)
        #expect(try await app.count("SELECT count(*) FROM live_events") == 0)

        let again = try await run(export.files, on: app, to: store)
        #expect(again.counts.allSatisfy { $0.added == 0 && $0.rejected == 0 }, "\(again)")
        try await expectAll(of: export, on: app)
        try await expectExact(app, store)
      }
    }
  }

  @Test func aRunThatIsCutOffAnywhereGoesOn() async throws {
    var generator = SeededGenerator("FirebaseImportTests.aRunThatIsCutOff")
    try await FirebaseExport.withFolder { folder in
      let export = try FirebaseExport(users: 25, in: folder, using: &generator)
      let store = MediaFolder(path: folder.appending(path: "store").path)
      let cuts = (0..<12).map { _ in (Int.random(in: 0...40, using: &generator), Bool.random(using: &generator)) }
      try await App.run { app in
        for (cut, isCommitted) in cuts {
          let left = Locked(cut)
          do {
            _ = try await export.files.run(on: app.pool, store: store) { body in
              let isLast = left.withLock { left in
                left -= 1
                return left < 0
              }
              if isLast, !isCommitted {
                return try await app.client.transaction { transaction -> FirebaseOutcome in
                  _ = try await body(transaction)
                  throw Killed()
                }
              }
              let outcome = try await app.client.transaction { try await body($0) }
              if isLast { throw Killed() }
              return outcome
            }
          } catch is Killed {}
        }
        let report = try await run(export.files, on: app, to: store)
        #expect(report.rejected == 0, "\(report)")
        try await expectAll(of: export, on: app)
        try await expectExact(app, store)
      }
    }
  }

  @Test func badRecordsAreNamedKeptAndTriedAgain() async throws {
    try await FirebaseExport.withFolder { folder in
      let path = { @Sendable (name: String) in folder.appending(path: name).path }
      try FirebaseExport.write(
        [
          "users": ["a": ["username": "ann"], "b": ["username": "ANN"], "c": ["username": "cat", "bio": ["x"]]],
          "posts": [
            "p": ["author": "a", "title": "one", "createdAt": 1_750_000_000, "image": "posts/none.png"],
            "q": ["author": "c", "title": "two", "createdAt": 1_750_000_000],
            "r": ["author": "a", "title": "three"],
          ],
          "likes": ["p": ["b": true, "nobody": true], "q": ["a": true]],
        ], to: path("firestore.json"))
      var files = FirebaseImport(rejects: path("rejects.jsonl"))
      files.firestore = path("firestore.json")
      files.storage = folder.path
      let store = MediaFolder(path: path("store"))
      try await App.run { [files] app in
        let report = try await run(files, on: app, to: store)
        #expect(report[.users].added == 2 && report[.users].rejected == 1)
        #expect(report.renamed == 1, "two users of one name")
        #expect(report[.posts].rejected == 2 && report[.pictures].rejected == 1 && report[.likes].rejected == 2)
        #expect(report.rejects == files.rejects)
        let text = try String(contentsOfFile: files.rejects, encoding: .utf8)
        #expect(text.contains("posts/r lacks createdAt or creationDate or timestamp"), "\(text)")
        #expect(text.contains("there is no user nobody"))
        #expect(text.contains("firestore.json:"))
        var status = stat()
        #expect(stat(files.rejects, &status) == 0 && status.st_mode & 0o077 == 0)

        // The post is corrected, and the picture found.
        let fixed = text.replacing(
          #""author":"a","title":"three""#, with: #""author":"a","createdAt":1750000001,"title":"three""#)
        try Data(fixed.utf8).write(to: folder.appending(path: "fixed.jsonl"))
        try FileManager.default.createDirectory(
          at: folder.appending(path: "posts"), withIntermediateDirectories: true)
        try Data(FirebaseExport.png(1)).write(to: folder.appending(path: "posts/none.png"))
        var again = files
        again.firestore = nil
        again.retry = path("fixed.jsonl")
        let second = try await run(again, on: app, to: store)
        #expect(second[.posts].added == 1 && second[.pictures].added == 1, "\(second)")
        #expect(try await app.count("SELECT count(*) FROM posts WHERE cardinality(media) = 1") == 1)
        try await expectExact(app, store)
      }
    }
  }

  @Test func profilesAndSignInDataMeetWhateverComesFirst() async throws {
    try await FirebaseExport.withFolder { folder in
      let path = { @Sendable (name: String) in folder.appending(path: name).path }
      try Data(FirebasePasswordTests.config.utf8).write(to: folder.appending(path: "hash"))
      try FirebaseExport.write(
        [
          "users": [
            [
              "localId": "a", "email": "ann@example.org", "passwordHash": FirebasePasswordTests.hash,
              "salt": FirebasePasswordTests.salt, "displayName": "김민지",
            ],
            ["localId": "b", "email": "Taken@example.org"],
            ["localId": "c", "disabled": true, "email": "cat@example.org"],
            ["localId": "d", "email": "no address"],
          ]
        ], to: path("auth.json"))
      try FirebaseExport.write(["users": ["c": ["username": "cat"]]], to: path("firestore.json"))
      var files = FirebaseImport(rejects: path("rejects.jsonl"))
      files.auth = path("auth.json")
      files.hashConfig = path("hash")
      files.firestore = path("firestore.json")
      let store = MediaFolder(path: path("store"))
      try await App.run { [files] app in
        try await app.pool.execute("INSERT INTO accounts (username, email) VALUES ('old', 'taken@example.org')")
        let report = try await run(files, on: app, to: store)
        #expect(report[.users].added == 2 && report[.users].rejected == 1 && report[.auth].rejected == 1, "\(report)")
        let ann = try await app.pool.query(
          "SELECT username, name, password_hash FROM accounts WHERE email = 'ann@example.org'"
        )[0].decode(String.self, String.self, String?.self)
        #expect(ann.0 == "gimminji" && ann.1 == "김민지" && ann.2?.hasPrefix("$firebase-scrypt$") == true)
        #expect(
          try await app.count(
            "SELECT count(*) FROM accounts a JOIN hidden_accounts h ON h.account_id = a.id WHERE username = 'cat'") == 1
        )
        // The other account gives up the address, and the user comes with the next run.
        try await app.pool.execute("UPDATE accounts SET email = NULL WHERE username = 'old'")
        let second = try await run(files, on: app, to: store)
        #expect(second[.users].added == 1 && second[.users].rejected == 0, "\(second)")
        #expect(try await app.count("SELECT count(*) FROM accounts WHERE email = 'taken@example.org'") == 1)
      }
    }
  }

  @Test func aUserWhoseProfileIsRejectedWaitsForABetterOne() async throws {
    try await FirebaseExport.withFolder { folder in
      let path = { @Sendable (name: String) in folder.appending(path: name).path }
      let signIns = ["a", "b", "c"].map { ["localId": $0, "email": "\($0)@example.org"] }
      try FirebaseExport.write(["users": signIns], to: path("auth.json"))
      try FirebaseExport.write(
        [
          "users": [
            "a": ["username": "ann", "bio": String(repeating: "x", count: 1001)],
            // Postgres refuses this one, and the key of the other is none that anybody could have.
            "b": ["username": "bob", "avatar": "a\u{0}b"], "c\u{0}": ["username": "cat"],
          ]
        ], to: path("firestore.json"))
      var files = FirebaseImport(rejects: path("rejects.jsonl"))
      files.auth = path("auth.json")
      files.firestore = path("firestore.json")
      var pictures = FirebaseImport(rejects: path("rejects-of-pictures.jsonl"))
      pictures.storage = folder.path
      let store = MediaFolder(path: path("store"))
      try await App.run { [files, pictures] app in
        let report = try await run(files, on: app, to: store)
        #expect(report[.users].added == 1 && report[.users].rejected == 3, "\(report)")
        // A run without profiles, such as one for the pictures, opens no account.
        #expect(try await run(pictures, on: app, to: store)[.users].added == 0)
        #expect(try await app.count("SELECT count(*) FROM accounts WHERE email <> 'c@example.org'") == 0)
        let text = try String(contentsOfFile: files.rejects, encoding: .utf8)
        let fixed = text.replacing(String(repeating: "x", count: 1001), with: "x")
          .replacing(#"a\u0000b"#, with: "a.png")
        try Data(fixed.utf8).write(to: URL(filePath: path("fixed.jsonl")))
        var again = FirebaseImport(rejects: files.rejects)
        again.retry = path("fixed.jsonl")
        #expect(try await run(again, on: app, to: store)[.users].added == 2)
        #expect(
          try await app.count(
            """
            SELECT count(*) FROM accounts
            WHERE (username, email) IN (('ann', 'a@example.org'), ('bob', 'b@example.org'))
            """) == 2)
      }
    }
  }

  @Test func signInDataThatComesLaterSuspendsOrIsForgotten() async throws {
    try await FirebaseExport.withFolder { folder in
      let path = { @Sendable (name: String) in folder.appending(path: name).path }
      try FirebaseExport.write(
        [
          "users": [
            "a": ["username": "ann"], "b": ["username": "bob", "avatar": "posts/1.png"], "c": ["username": "cat"],
          ]
        ], to: path("firestore.json"))
      let signIns: [[String: Any]] = [
        ["localId": "a", "email": "ann@example.org", "disabled": true], ["localId": "b", "email": "bob@example.org"],
        ["localId": "c", "email": "cat@example.org"],
      ]
      try FirebaseExport.write(["users": signIns], to: path("auth.json"))
      try FileManager.default.createDirectory(at: folder.appending(path: "posts"), withIntermediateDirectories: true)
      try Data(FirebaseExport.png(1)).write(to: folder.appending(path: "posts/1.png"))
      var profiles = FirebaseImport(rejects: path("rejects.jsonl"))
      profiles.firestore = path("firestore.json")
      var rest = FirebaseImport(rejects: path("rejects.jsonl"))
      rest.auth = path("auth.json")
      rest.storage = folder.path
      let store = MediaFolder(path: path("store"))
      try await App.run { [profiles, rest] app in
        #expect(try await run(profiles, on: app, to: store)[.users].added == 3)
        let bob = try await app.pool.query("SELECT id FROM accounts WHERE username = 'bob'")[0].decode(Int.self)
        try await app.client.transaction { try await Deletions.delete(bob, in: $0) }
        try await app.drain()
        let report = try await run(rest, on: app, to: store)
        #expect(report[.auth].rejected == 0 && report[.users].added == 0, "\(report)")
        #expect(report[.pictures].rejected == 1, "\(report)")
        #expect(try await run(rest, on: app, to: store)[.pictures].rejected == 0)
        #expect(
          try await app.count("SELECT count(*) FROM accounts WHERE username = 'ann' AND suspended_at IS NOT NULL") == 1)
        #expect(try await app.count("SELECT count(*) FROM hidden_accounts") == 1)
        #expect(try await app.count("SELECT count(*) FROM accounts WHERE email = 'cat@example.org'") == 1)
        #expect(try await app.count("SELECT count(*) FROM import_auth") == 0)
      }
    }
  }

  @Test func aBlockSinceTheUsersCameOutlastsAFollow() async throws {
    try await FirebaseExport.withFolder { folder in
      let path = { @Sendable (name: String) in folder.appending(path: name).path }
      try FirebaseExport.write(
        ["users": ["a": ["username": "ann"], "b": ["username": "bob"]]], to: path("users.json"))
      try FirebaseExport.write(["following": ["a": ["b": true], "b": ["a": true]]], to: path("follows.json"))
      var users = FirebaseImport(rejects: path("rejects.jsonl"))
      users.firestore = path("users.json")
      var follows = FirebaseImport(rejects: path("rejects.jsonl"))
      follows.firestore = path("follows.json")
      let store = MediaFolder(path: path("store"))
      try await App.run { [users, follows] app in
        _ = try await run(users, on: app, to: store)
        let ids = try await app.pool.query("SELECT id FROM accounts ORDER BY username").decode(Int.self)
        try await app.client.transaction { try await Blocks.block(ids[0], by: ids[1], in: $0) }
        let report = try await run(follows, on: app, to: store)
        #expect(report[.follows].added == 0 && report[.follows].known == 2 && report.rejected == 0, "\(report)")
        #expect(try await app.count("SELECT count(*) FROM follows") == 0)
      }
    }
  }

  @Test func twoRunsDoNotWriteOneFileOfRejectedRecords() async throws {
    try await FirebaseExport.withFolder { folder in
      var files = FirebaseImport(rejects: folder.appending(path: "rejects.jsonl").path)
      files.database = folder.appending(path: "database.json").path
      try Data("{}".utf8).write(to: folder.appending(path: "database.json"))
      let other = try RejectedRecords(path: files.rejects)
      let busy = files
      let error = await #expect(throws: FirebaseImportError.self) { _ = try await busy.check() }
      #expect(error?.code == .busy)
      try other.finish()
      // What a killed run left is no obstacle.
      try Data("left".utf8).write(to: URL(filePath: files.rejects + ".part"))
      let report = try await files.check()
      #expect(report.rejected == 0)
    }
  }

  @Test func anotherTryDoesNotLeaveAPassword() async throws {
    try await FirebaseExport.withFolder { folder in
      let path = { @Sendable (name: String) in folder.appending(path: name).path }
      let signIn = [
        "localId": "a", "email": "none", "passwordHash": FirebasePasswordTests.hash, "salt": FirebasePasswordTests.salt,
      ]
      try FirebaseExport.write(["users": [signIn]], to: path("auth.json"))
      try Data(FirebasePasswordTests.config.utf8).write(to: folder.appending(path: "hash"))
      var files = FirebaseImport(rejects: path("rejects.jsonl"))
      files.auth = path("auth.json")
      files.hashConfig = path("hash")
      files.requiresPasswords = true
      #expect(try await files.check()[.auth].rejected == 1)
      let fixed = try String(contentsOfFile: files.rejects, encoding: .utf8)
        .replacing(#""email":"none""#, with: #""email":"ann@example.org""#)
      try Data(fixed.utf8).write(to: URL(filePath: path("fixed.jsonl")))
      files.auth = nil
      files.retry = path("fixed.jsonl")
      #expect(try await files.check()[.auth].added == 1)
      files.hashConfig = nil
      #expect(try await files.check()[.auth].rejected == 1)
      files.requiresPasswords = false
      #expect(try await files.check()[.auth].added == 1)
    }
  }

  @Test func theFileOfRejectedRecordsCanAlwaysBeReadAgain() async throws {
    try await FirebaseExport.withFolder { folder in
      var files = FirebaseImport(rejects: folder.appending(path: "rejects.jsonl").path)
      files.database = folder.appending(path: "database.json").path
      let deep = String(repeating: "[", count: 63) + String(repeating: "]", count: 63)
      let half = #"{"username": "a\ud83d", "bio": +5}"#
      try Data(#"{"users": {"a": \#(half), "b": .5, "c": {"name": \#(deep)}, "d": [1, 2]}}"#.utf8).write(
        to: folder.appending(path: "database.json"))
      #expect(try await files.check()[.users].rejected == 4)
      files.database = nil
      files.retry = files.rejects
      #expect(try await files.check()[.users].rejected == 4)
    }
  }

  @Test func onlyAnObjectIsAProfile() async throws {
    try await FirebaseExport.withFolder { folder in
      var files = FirebaseImport(rejects: folder.appending(path: "rejects.jsonl").path)
      files.database = folder.appending(path: "database.json").path
      try Data(#"{"users": {"u": {"username": "ann"}, "count": 1}, "likes": {"p": [null, false]}}"#.utf8).write(
        to: folder.appending(path: "database.json"))
      let report = try await files.check()
      #expect(report[.users].added == 1 && report[.users].rejected == 1 && report[.likes].rejected == 0, "\(report)")
    }
  }

  @Test func aKeyThatIsTooLongForAnIndexIsRejected() async throws {
    var generator = SeededGenerator("FirebaseImportTests.aKeyThatIsTooLong")
    let long = String((0..<3500).map { _ in "abcdefghijklmnopqrstuvwxyz".randomElement(using: &generator) ?? "a" })
    try await FirebaseExport.withFolder { folder in
      let path = { @Sendable (name: String) in folder.appending(path: name).path }
      let message: [String: Any] = ["from": "a", "to": "b", "text": "hi", "createdAt": 1_750_000_000]
      try FirebaseExport.write(
        [
          "users": ["a": ["username": "ann"], "b": ["username": "bob"]],
          "messages": ["c": [long: message, "m": message]],
        ], to: path("database.json"))
      var files = FirebaseImport(rejects: path("rejects.jsonl"))
      files.database = path("database.json")
      let store = MediaFolder(path: path("store"))
      try await App.run { [files] app in
        let report = try await run(files, on: app, to: store)
        #expect(report[.messages].rejected == 1 && report[.messages].added == 1, "\(report)")
      }
    }
  }

  @Test func aMappingNamesOtherCollectionsAndFields() async throws {
    try await FirebaseExport.withFolder { folder in
      let path = { @Sendable (name: String) in folder.appending(path: name).path }
      try FirebaseExport.write(
        [
          "people": ["a": ["handle": "ann"], "b": ["handle": "bob"]],
          "feed": ["x": ["p": ["by": "a", "headline": "one", "made": 1_750_000_000]]],
          "fans": ["a": ["b": 1]],
        ], to: path("database.json"))
      try Data(
        #"""
        {"users": {"paths": "people/{user}", "fields": {"username": "handle"}},
         "posts": {"paths": ["feed/{shard}/{post}"],
           "fields": {"author": "by", "title": ["headline"], "createdAt": "made"}},
         "follows": {"paths": ["fans/{followee}/{follower}"]}}
        """#.utf8
      ).write(to: folder.appending(path: "mapping.json"))
      var files = FirebaseImport(rejects: path("rejects.jsonl"))
      files.database = path("database.json")
      files.mapping = path("mapping.json")
      let store = MediaFolder(path: path("store"))
      try await App.run { [files] app in
        let report = try await run(files, on: app, to: store)
        #expect(report.rejected == 0 && report[.users].added == 2 && report[.posts].added == 1, "\(report)")
        let follow = try await app.pool.query(
          """
          SELECT f.username, a.username FROM follows JOIN accounts f ON f.id = follower_id
          JOIN accounts a ON a.id = followee_id
          """)[0].decode(String.self, String.self)
        #expect(follow.0 == "bob" && follow.1 == "ann")
        #expect(try await app.feedRows().count == 1)
        try await expectExact(app, store)
      }
    }
  }

  @Test(arguments: [
    (#"{"user": {}}"#, "no records called 'user'"), (#"{"users": []}"#, "must be an object"),
    (#"{"users": {"paths": ["users"]}}"#, "a {name} at the end"),
    (#"{"users": {"fields": {"nick": "x"}}}"#, "no field 'nick'"), ("[]", "not a JSON object"), ("{", "is not JSON"),
  ])
  func aWrongMappingIsExplained(text: String, reason: String) async throws {
    try await FirebaseExport.withFolder { folder in
      let file = folder.appending(path: "mapping.json")
      try Data(text.utf8).write(to: file)
      let error = #expect(throws: FirebaseImportError.self) { _ = try FirebaseMapping(file: file.path) }
      #expect(error?.code == .malformed && error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }
  }

  @Test func aSecondImportAtTheSameTimeIsRefused() async throws {
    try await FirebaseExport.withFolder { folder in
      let file = folder.appending(path: "firestore.json")
      try Data("{}".utf8).write(to: file)
      var files = FirebaseImport(rejects: folder.appending(path: "rejects").path)
      files.firestore = file.path
      let store = MediaFolder(path: folder.appending(path: "store").path)
      try await App.run { [files] app in
        let other = try await app.pool.dedicatedConnection()
        _ = try await other.query("SELECT pg_advisory_lock(hashtextextended('fanmill.import.firebase', 0))")
        let error = await #expect(throws: FirebaseImportError.self) { try await run(files, on: app, to: store) }
        #expect(error?.code == .busy)
        await other.close()
      }
    }
  }

  @Test func aPostOfAnAuthorWithFollowersReachesThemByItsFanOut() async throws {
    try await FirebaseExport.withFolder { folder in
      let path = { @Sendable (name: String) in folder.appending(path: name).path }
      try FirebaseExport.write(
        ["users": ["a": ["username": "ann"], "b": ["username": "bob"]], "following": ["b": ["a": true]]],
        to: path("first.json"))
      try FirebaseExport.write(
        ["posts": ["p": ["author": "a", "title": "one", "createdAt": 1_750_000_000]]], to: path("second.json"))
      let store = MediaFolder(path: path("store"))
      try await App.run { app in
        for name in ["first.json", "second.json"] {
          var files = FirebaseImport(rejects: path("rejects.jsonl"))
          files.firestore = path(name)
          #expect(try await run(files, on: app, to: store).rejected == 0)
        }
        #expect(try await app.count("SELECT count(*) FROM jobs WHERE kind = 'posts.fan-out'") == 1)
        try await app.drain()
        #expect(try await app.feedRows().count == 1)
        try await expectExact(app, store)
        #expect(try await app.count("SELECT count(*) FROM notifications") == 0)
      }
    }
  }
}
