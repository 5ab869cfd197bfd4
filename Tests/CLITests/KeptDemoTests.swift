import Foundation
import LocalStack
import ProgramTestSupport
import TestSupport
import Testing

/// Serialized, since each of these tests runs a whole stack, and the API listens on a port.
@Suite("fanmill demo --keep", .timeLimit(.minutes(5)), .serialized)
struct KeptDemoTests {
  private struct Session: Decodable { let token: String }

  private struct Feed: Decodable {
    struct Post: Decodable, Equatable {
      let id: Int
      let title: String
      let createdAt: Date
      let likes: Int
      let comments: Int
    }

    let items: [Post]
  }

  private struct Profile: Decodable, Equatable {
    let posts: Int
    let followers: Int
    let following: Int
  }

  private struct Accounts: Decodable {
    struct Item: Decodable { let username: String }

    let items: [Item]
  }

  private struct Ranking: Decodable {
    struct Item: Decodable { let hearts: Int }

    let items: [Item]
  }

  /// A folder for a stack, which is stopped afterwards.
  private func withFolder(
    _ body: (_ fanmill: @escaping ([String]) async throws -> BuiltProgram.Outcome, _ folder: String) async throws ->
      Void
  ) async throws {
    let folder = NSTemporaryDirectory() + "fanmill-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // Postgres runs as a different user when these tests run as root.
    chmod(folder, 0o755)
    func fanmill(_ arguments: [String]) async throws -> BuiltProgram.Outcome {
      try await BuiltProgram("fanmill").run(arguments, in: folder)
    }
    do {
      try await body(fanmill, folder)
    } catch {
      _ = try await fanmill(["down"])
      throw error
    }
    #expect(try await fanmill(["down"]).status == 0)
    try FileManager.default.removeItem(atPath: folder)
  }

  private let fill = [
    "demo", "--keep", "--accounts", "10", "--api-port", "0", "--migrations", TestStack.migrations, "--json",
  ]

  /// The API as the visitor sees it.
  private struct Visit {
    let http: LoopbackHTTP
    let token: String

    init(_ report: ExhibitionReport) throws {
      http = LoopbackHTTP(port: try #require(URL(string: report.url)?.port))
      let credentials = try JSONEncoder().encode(["email": report.email, "password": report.password])
      let answer = try http.send("POST", "/v1/sessions", body: Array(credentials))
      token = try answer.decode(Session.self).token
    }

    func get<Value: Decodable>(_ path: String, _ type: Value.Type) throws -> Value {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .custom { decoder in
        let text = try decoder.singleValueContainer().decode(String.self)
        return try Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains(".")))
      }
      return try decoder.decode(type, from: Data(try http.send("GET", "/v1/" + path, token: token).body))
    }
  }

  @Test("It starts a stack, fills it once with what the API then shows, over two weeks, and every audit is exact")
  func fillsOnce() async throws {
    try await withFolder { fanmill, _ in
      let first = try await fanmill(fill)
      try #require(first.status == 0, "\(first.errors)")
      let report = try first.json(ExhibitionReport.self)
      #expect(report.isNew && report.accounts == 10 && report.username == "visitor")
      #expect(report.unreadNotifications > 0 && report.unreadMessages > 0)
      let audit = try await fanmill(["audit"])
      #expect(audit.status == 0, "\(audit.output)")

      let visit = try Visit(report)
      let feed = try visit.get("feed/home?limit=100", Feed.self).items
      let own = try visit.get("users/visitor", Profile.self)
      let ranking = try visit.get("rankings/youtube?by=hearts&window=day", Ranking.self).items
      #expect(feed.count == report.posts && Set(feed.map(\.title)).count == report.posts)
      #expect(feed.reduce(0) { $0 + $1.likes } == report.likes)
      #expect(feed.reduce(0) { $0 + $1.comments } == report.comments)
      #expect(ranking.reduce(0) { $0 + $1.hearts } == report.hearts)
      #expect(own.posts == 3 && own.followers > 0 && own.following > 0)
      // The order of times is the order of ids.
      #expect(feed.map(\.id) == feed.map(\.id).sorted(by: >))
      #expect(feed.map(\.createdAt) == feed.map(\.createdAt).sorted(by: >))
      let (newest, oldest) = (try #require(feed.first), try #require(feed.last))
      #expect(newest.createdAt < .now && oldest.createdAt < newest.createdAt - 12 * 86_400)

      let second = try await fanmill(fill)
      try #require(second.status == 0, "\(second.errors)")
      #expect(try second.json(ExhibitionReport.self).isNew == false)
      #expect(try visit.get("feed/home?limit=100", Feed.self).items == feed)
      #expect(try visit.get("users/visitor", Profile.self) == own)
      #expect(try await fanmill(["accounts", "list", "--json"]).json(Accounts.self).items.count == 10)
    }
  }

  @Test("Killed on the way, it is completed by the next run, and nothing is there twice")
  func killed() async throws {
    try await withFolder { fanmill, folder in
      let up = try await fanmill(["up", "--detach", "--api-port", "0", "--migrations", TestStack.migrations])
      try #require(up.status == 0, "\(up.errors)")
      let running = try BuiltProgram("fanmill").start(fill, in: folder)
      try await eventually("the accounts are there") {
        try await fanmill(["accounts", "show", "visitor"]).status == 0
      }
      running.send(SIGKILL)
      let isInterrupted = await running.outcome().status != 0

      let next = try await fanmill(fill)
      try #require(next.status == 0, "\(next.errors)")
      let report = try next.json(ExhibitionReport.self)
      #expect(report.isNew == isInterrupted)
      let feed = try Visit(report).get("feed/home?limit=100", Feed.self).items
      #expect(feed.count == report.posts && Set(feed.map(\.title)).count == report.posts)
      #expect(feed.reduce(0) { $0 + $1.comments } == report.comments)
      #expect(try await fanmill(["audit"]).status == 0)
    }
  }

  @Test("Its options are checked before anything starts")
  func options() async throws {
    try await CLI()("demo", "--keep", "--accounts", "9", status: 64)
    try await CLI()("demo", "--accounts", "20", status: 64)
    try await CLI()("demo", "--keep", "--users", "users.tsv", status: 64)
  }
}
