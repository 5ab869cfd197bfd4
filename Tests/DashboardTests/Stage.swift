import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import HTTPTypes
import Hummingbird
import JobsTestSupport
import LibPQClient
import Locking
import Logging
import ProgramTestSupport
import Social
import SocialAdmin
import TestSupport
import Testing

@testable import DurableJobsDashboard
@testable import SocialDashboard

/// The dashboard over a test's own database and Redis.
struct Stage: Sendable {
  static let token = "the full token of these tests"
  static let readToken = "the read token of these tests"
  static let password = "a-password-in-a-url"
  static let schedule: ScheduleName = "tests.sweep"

  let stack: TestStack
  let dashboard: SocialDashboard
  let findings: Locked<[Finding]>
  let address: Locked<String>

  /// - Parameters:
  ///   - isOpen: whether there is an admin token.
  ///   - isRunning: whether the background services of the pages run.
  static func with(
    isOpen: Bool = true, url: String? = nil, isRunning: Bool = true,
    _ body: @Sendable (Stage) async throws -> Void
  ) async throws {
    try await TestStack.with { stack in
      let findings = Locked<[Finding]>([])
      let keys = isOpen ? DashboardKeys(full: token, readOnly: readToken) : nil
      let stage = Stage(
        stack: stack,
        dashboard: try dashboard(keys: keys, url: url, over: stack) { findings.withLock { $0 } },
        findings: findings, address: Locked("192.0.2.1"))
      guard isRunning else { return try await body(stage) }
      try await RunningWorker.run(stage.dashboard) { _ in try await body(stage) }
    }
  }

  static func dashboard(
    keys: DashboardKeys?, url: String? = nil, proxies: TrustedProxies = .none, over stack: TestStack,
    reads: PostgresReads? = nil,
    examine: @escaping @Sendable () async -> [Finding] = { [] }
  ) throws -> SocialDashboard {
    let schedule = Schedule(schedule, try .every(.seconds(3600))) { _ in SessionSweep() }
    return try SocialDashboard(
      SocialDashboard.Configuration(keys: keys, url: url, secrets: [token, readToken, password], proxies: proxies),
      jobs: JobAdmin(stack.client, kinds: .app), schedules: ScheduleAdmin([schedule], database: stack.database),
      reads: reads, lookups: LookupRules(keys: []), examine: examine, logger: .quiet)
  }

  /// All routes: method, path under `/admin`, and guard.
  var routes: [DashboardRoutes.Route] { dashboard.dashboard.routes.all }

  // MARK: Requests

  struct Reply: Sendable {
    let status: Int
    let headers: HTTPFields
    let text: String
    var location: String? { headers[.location] }

    func contains(_ part: String) -> Bool { text.contains(part) }
  }

  private struct Source: RequestContextSource {
    let logger = Logger.quiet
  }

  func send(
    _ method: HTTPRequest.Method, _ path: String, cookie: String? = nil, origin: String? = "http://dashboard.test",
    body: String = "", headers: HTTPFields = [:], on other: SocialDashboard? = nil
  ) async throws -> Reply {
    var head = HTTPRequest(
      method: method, scheme: "http", authority: "dashboard.test", path: path, headerFields: headers)
    if let cookie { head.headerFields[.cookie] = "\(SessionCookie.name)=\(cookie)" }
    if method == .post, let origin { head.headerFields[.origin] = origin }
    let request = Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body)))
    let context = AdminContext(Source(), address: address.withLock { $0 })
    let response = try await (other ?? dashboard).responder().respond(to: request, context: context)
    let collector = Collector()
    try await response.body.write(collector)
    return Reply(status: response.status.code, headers: response.headers, text: collector.text)
  }

  /// A response whose body has not been read.
  func open(_ path: String, cookie: String) async throws -> Response {
    var head = HTTPRequest(method: .get, scheme: "http", authority: "dashboard.test", path: path)
    head.headerFields[.cookie] = "\(SessionCookie.name)=\(cookie)"
    head.headerFields[.accept] = "text/event-stream"
    return try await dashboard.responder().respond(
      to: Request(head: head, body: RequestBody(buffer: ByteBuffer())),
      context: AdminContext(Source(), address: "192.0.2.1"))
  }

  /// The first update of a page.
  func update(_ path: String, cookie: String) async throws -> String {
    let response = try await open(path, cookie: cookie)
    let (parts, part) = AsyncStream.makeStream(of: String.self)
    return await withTaskGroup(of: Void.self) { group in
      group.addTask {
        // Cancelled once the first update is there.
        do { try await response.body.write(StreamCollector(part: part)) } catch {}
      }
      defer { group.cancelAll() }
      for await text in parts where text.hasPrefix("event: page\n") { return text }
      return ""
    }
  }

  /// The context of a request whose connection a test closes.
  func context(hangUp: @escaping @Sendable () -> Void) -> AdminContext {
    AdminContext(Source(), address: "192.0.2.1", hangUp: hangUp)
  }

  static func encode(_ fields: [(String, String)]) -> String {
    fields.map { "\(DashboardLink.escape($0.0))=\(DashboardLink.escape($0.1))" }.joined(separator: "&")
  }

  /// Signs in and returns the session.
  func signIn(_ token: String = Stage.token, name: String = "ann") async throws -> SignedIn {
    let reply = try await send(.post, "/admin/sign-in", body: Self.encode([("token", token), ("name", name)]))
    try #require(reply.status == 303, "\(reply.status) \(reply.text)")
    let cookie = try #require(reply.headers[.setCookie])
    let text = String(cookie.dropFirst(SessionCookie.name.count + 1).prefix { $0 != ";" })
    let session = AdminSession(
      token: try #require(SessionToken(text)), actor: Operator(name: name), notice: nil)
    return SignedIn(stage: self, cookie: text, formToken: session.formToken)
  }

  // MARK: Data

  /// Adds a pending job to the ledger only: the broker does not know it, and no worker runs it.
  @discardableResult
  func owe(
    _ count: Int = 1, kind: String = "posts.fan-out", queue: String = "fanout",
    payload: String = #"{"post":1,"author":2}"#
  ) async throws -> [JobID] {
    let records = (0..<count).map { _ in
      JobRecord(
        kind: JobKind(rawValue: kind), queue: QueueName(rawValue: queue), payload: Array(payload.utf8), isDurable: true)
    }
    try await stack.ledger.withTransaction { transaction in
      _ = try await stack.ledger.add(records, in: transaction)
    }
    return records.map(\.id)
  }

  /// Makes dead letters.
  @discardableResult
  func deadLetter(
    _ count: Int = 1, kind: String = "posts.fan-out", payload: String = #"{"post":1,"author":2}"#,
    error: String = "it broke"
  ) async throws -> [JobID] {
    let ids = try await owe(count, kind: kind, payload: payload)
    let record = JobRecord(kind: JobKind(rawValue: kind), queue: "fanout", payload: [], isDurable: true)
    try await stack.ledger.deadLetter(
      ids.map { id in
        var dead = record
        dead.id = id
        return DeadJob(
          record: dead, attempts: 3,
          failure: JobFailure(attempt: 3, at: .init(unixMilliseconds: id.milliseconds), error: error, worker: "w1"))
      })
    return ids
  }

  func count(_ query: PostgresQuery) async throws -> Int { try await stack.count(query) }

  /// The recorded actions, newest first.
  func actions() async throws -> [String] {
    try await ActionLog(stack.database).page().items.map { "\($0.action) \($0.subject)" }
  }
}

/// A signed-in user.
struct SignedIn: Sendable {
  let stage: Stage
  let cookie: String
  let formToken: String

  func get(_ path: String) async throws -> Stage.Reply { try await stage.send(.get, path, cookie: cookie) }

  /// Sends a page's form.
  func post(_ path: String, _ fields: [(String, String)] = [], confirmed: Bool = false) async throws -> Stage.Reply {
    let all = fields + [("form", formToken)] + (confirmed ? [("confirmed", "yes")] : [])
    return try await stage.send(.post, path, cookie: cookie, body: Stage.encode(all))
  }
}

/// Collects the body that a response writes.
private final class Collector: ResponseBodyWriter, Sendable {
  private let bytes = Locked<[UInt8]>([])
  var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }

  func write(_ buffer: ByteBuffer) async throws { bytes.withLock { $0 += Array(buffer.readableBytesView) } }
  func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
