import DurableJobs
import Foundation
import LibPQClient
import Locking
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct GraphImportTests {
  @Test func importsAccountsAndFollows() async throws {
    try await App.run { app in
      try await withFiles(
        "# username\tmajor\nann\tMusic\nbob\r\n\ncat\tArt\nANN\tMusic", "ann\tbob\nbob\tann\nbob\tann\nCAT\tann"
      ) { users, follows in
        let progress = Locked<[GraphImport.Progress.Phase]>([])
        let report = try await GraphImport(users: users, follows: follows).run(on: app.pool) { step in
          progress.withLock { $0.append(step.phase) }
        }
        #expect(report == GraphImport.Report(accountsAdded: 3, accountsKnown: 1, followsAdded: 3, followsKnown: 1))
        #expect(
          progress.withLock { $0 } == [.readingUsers, .readingFollows, .addingUsers, .addingFollows, .done])
        let cat = try await Accounts.profile(of: "cat", seenBy: 0, in: app.pool)
        #expect(cat.major == "Art" && cat.following == 1)
        // A second import, from compressed files, changes nothing.
        for path in [users, follows] { try pack(path) }
        let again = try await GraphImport(users: users + ".gz", follows: follows + ".gz").run(on: app.pool)
        #expect(again == GraphImport.Report(accountsAdded: 0, accountsKnown: 4, followsAdded: 0, followsKnown: 4))
      }
    }
  }

  @Test func followsBringPostsIntoFeeds() async throws {
    try await App.run { app in
      let ids = try await app.accounts(3)
      try await app.follow(ids[0], by: ids[1])
      for _ in 0..<3 { try await app.post(by: ids[0]) }
      try await app.drain()
      try await withFiles("", "account2\taccount1\naccount3\taccount1\naccount1\taccount3\n") { _, follows in
        let report = try await GraphImport(follows: follows).run(on: app.pool)
        #expect(report.followsAdded == 2 && report.followsKnown == 1 && report.feedRows == 3)
      }
      try await app.expectExactFeeds()
    }
  }

  @Test func postWaitsForAnImport() async throws {
    try await App.run { app in
      let ids = try await app.accounts(2)
      try await withFiles("", "account2\taccount1\n") { _, follows in
        try await app.interleave { transaction in
          // An import, held before its commit.
          try await GraphFile.follows(follows).load(into: transaction.sql) { _ in }
          var report = GraphImport.Report()
          try await GraphImport.addFollows(follows, in: transaction.sql, &report)
        } with: {
          try await app.postAndFanOut(by: ids[0])
        }
      }
      try await app.expectExactFeeds()
      #expect(try await app.feedRows().count == 1)
    }
  }

  @Test(arguments: [
    ("ann\tMusic\textra\n", "", [1]), ("ann\n-bad\n\tMusic\n", "", [2, 3]), ("ann\tMusic\nbob\nANN\tArt\n", "", [3]),
    ("ann\nbob\n", "# c\nann\tbob\nann\n", [3]), ("ann\nbob\n", "ann\tbob\tcat\n", [1]),
    ("ann\nbob\n", "ann\tnobody\nnobody\tbob\n", [1, 2]), ("ann\nbob\n", "ann\tbob\nbob\tBOB\n", [2]),
    ("ann\n", "ann\t\n", [1]), ("ann\t\u{0}\n", "", [1]),
    (String(repeating: "b b\n", count: 30), "", Array(1...10)),
  ])
  func refusesBadLinesAndImportsNothing(users: String, follows: String, numbers: [Int]) async throws {
    try await App.run { app in
      try await withFiles(users, follows) { usersFile, followsFile in
        let error = await #expect(throws: GraphImportError.self) {
          try await GraphImport(users: usersFile, follows: follows.isEmpty ? nil : followsFile).run(on: app.pool)
        }
        #expect(error?.code == .badLines)
        #expect(error?.lines.map(\.number) == numbers)
        let file = follows.isEmpty ? usersFile : followsFile
        #expect(error?.lines.allSatisfy { $0.file == file } == true)
        #expect(error?.message.contains("\(file):\(numbers[0]): ") == true)
        let left = try await app.count("SELECT (SELECT count(*) FROM accounts) + (SELECT count(*) FROM follows)")
        #expect(left == 0)
      }
    }
  }

  @Test func refusesFilesThatCannotBeRead() async throws {
    try await App.run { app in
      try await withFiles("ann\n", "") { users, follows in
        try pack(users)
        let packed = try Data(contentsOf: URL(filePath: users + ".gz"))
        try packed.prefix(packed.count - 6).write(to: URL(filePath: follows))
        for path in [follows, users + ".not", "/"] {
          let error = await #expect(throws: GraphImportError.self) {
            try await GraphImport(users: path).run(on: app.pool)
          }
          #expect(error?.code == .unreadable)
          #expect(error?.message.contains(path) == true)
        }
      }
    }
  }

  private func withFiles(_ users: String, _ follows: String, _ body: (String, String) async throws -> Void) async throws
  {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    let files = (folder.appending(path: "users.tsv"), folder.appending(path: "follows.tsv"))
    try Data(users.utf8).write(to: files.0)
    try Data(follows.utf8).write(to: files.1)
    try await body(files.0.path, files.1.path)
  }

  /// Compresses a file beside itself.
  private func pack(_ path: String) throws {
    let gzip = Process()
    gzip.executableURL = URL(filePath: "/bin/gzip")
    gzip.arguments = ["-kf", path]
    try gzip.run()
    gzip.waitUntilExit()
    #expect(gzip.terminationStatus == 0)
  }
}
