import HTTPTypes
import Hummingbird
import Bootstrap
import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import HiredisClient
import LibPQClient
import LocalStack
import Logging
import Migrations
import PrivateServers
import Reactor
import SocialAdmin
import Testing

@testable import Social
@testable import SocialAPI

let loop = EventLoop(name: "api-tests")
let adminToken = "an admin token of the tests"
let adminReadToken = "a read-only token of the tests"

let logger: Logger = {
  var logger = Logger(label: "api-tests")
  logger.logLevel = .critical
  return logger
}()

/// The API on a free port over its own servers, with a client for it.
struct API: Sendable {
  let http: LoopbackHTTP
  let pool: PostgresPool
  let broker: RedisBroker
  let redis: RedisClient
  let events: EventHub
  /// Its store of pictures.
  let store: MediaFolder
  let mediaFolder: String
  /// Its routes, such as `GET /v1/me`.
  let routes: [String]

  /// Serves the API over a fresh database while `body` runs.
  static func run(
    lookups rules: LookupRules = LookupRules(keys: []),
    certificates: FanCertificates? = FanCertificates(secret: "a key of the tests, 32 characters or more"),
    purchases: PurchaseRules = PurchaseRules(),
    agreements: AgreementSecrets? = AgreementSecrets(secret: "a key of the tests, 32 characters or more"),
    asksAdults: Bool = false, sendsMail: Bool = true, confirmsSignUp: Bool = false,
    patience: Duration = .seconds(60), second: Duration = .seconds(1),
    requestTimeout: Duration = .seconds(60),
    postgres: PrivatePostgres? = nil, redis: PrivateRedis? = nil, usesPusher: Bool = false,
    limits: ConnectionLimits = ConnectionLimits(),
    hasher: PasswordHasher = PasswordHasher(
      threads: 2, limit: 64, parameters: (logarithm: 4, blockSize: 8, parallelism: 1)),
    mediaQuota: Int = 1_000_000_000, proxies: TrustedProxies = .none,
    feeds: FeedRules = FeedRules(notesReaders: true),
    budgets: @Sendable (RedisClient) -> RequestBudgets? = { _ in nil }, logger: Logger = logger,
    _ body: @Sendable (API) async throws -> Void
  ) async throws {
    let server = if let redis { redis } else { try await SharedServers.redis() }
    var configuration = try RedisConfiguration(url: server.url)
    configuration.connectTimeout = .seconds(60)
    let client = RedisClient(configuration: configuration, loop: loop, logger: logger)
    let url: String
    if let postgres {
      url = postgres.url
      try await migrate(url)
    } else {
      url = try await SharedServers.freshDatabase(template: try await SharedServers.template("api", fill: migrate))
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await client.run() }
      try await withPool(url, logger) { pool in
        try await serve(
          client, pool, rules, certificates, purchases, agreements, asksAdults, logger, sendsMail, confirmsSignUp,
          patience, second, requestTimeout,
          usesPusher,
          limits, hasher,
          mediaQuota, proxies, feeds, budgets(client), body)
      }
      group.cancelAll()
    }
    if postgres == nil { try await SharedServers.drop(url) }
  }

  @Sendable private static func migrate(_ url: String) async throws {
    try await withPool(url) { pool in
      let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../migrations").path
      try await DatabaseMigrator(try Migration.all(in: folder), pool: pool).up()
    }
  }

  private static func serve(
    _ client: RedisClient, _ pool: PostgresPool, _ rules: LookupRules, _ certificates: FanCertificates?,
    _ purchases: PurchaseRules, _ agreements: AgreementSecrets?, _ asksAdults: Bool, _ logger: Logger,
    _ sendsMail: Bool, _ confirmsSignUp: Bool, _ patience: Duration, _ second: Duration,
    _ requestTimeout: Duration,
    _ usesPusher: Bool,
    _ limits: ConnectionLimits, _ hasher: PasswordHasher, _ mediaQuota: Int, _ proxies: TrustedProxies,
    _ feeds: FeedRules, _ budgets: RequestBudgets?,
    _ body: @Sendable (API) async throws -> Void
  ) async throws {
    let broker = try await RedisBroker(client: client, prefix: "api-\(JobID.next())", logger: logger)
    let pusher = usesPusher ? JobPusher(broker: broker, logger: logger) : nil
    let jobs = JobClient(
      broker: broker, ledger: PostgresLedger(pool: pool), pusher: pusher, logger: logger)
    let events = EventHub(
      pool: pool, countPause: .milliseconds(20), patience: patience, second: second, logger: logger)
    let media = NSTemporaryDirectory() + "fanmill-media-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: media, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: media) } }
    let store = MediaFolder(path: media)
    let api = SocialAPI(
      jobs: jobs, pool: pool,
      hasher: hasher, admin: JobAdmin(jobs, kinds: .app),
      adminToken: AdminToken(adminToken), adminReadToken: AdminToken(adminReadToken),
      lookups: Lookups(rules: rules), certificates: certificates, purchases: purchases,
      agreements: agreements, asksAdults: asksAdults, sendsMail: sendsMail,
      confirmsSignUp: confirmsSignUp,
      media: MediaShelf(store: store, incoming: media, quota: mediaQuota), requestTimeout: requestTimeout,
      attempts: AttemptBook(pool: pool, memory: .zero), proxies: proxies, feeds: feeds,
      budgets: budgets, events: events)
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    let server = HTTPService(
      responder: EventStreamResponder(api.responder()), host: "127.0.0.1", port: 0, setting: .apiPort, limits: limits,
      logger: logger,
      onListening: { port.yield($0) })
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await server.run() }
      group.addTask { try await events.run() }
      if let pusher { group.addTask { await pusher.run() } }
      for await port in ports {
        var http = LoopbackHTTP(port: port)
        http.patience = 120
        try await body(
          API(
            http: http, pool: pool, broker: broker, redis: client, events: events, store: store, mediaFolder: media,
            routes: api.router().routes.map { "\($0.method.rawValue) \($0.path)" }))
        break
      }
      group.cancelAll()
    }
  }

  private static func withPool(
    _ url: String, _ logger: Logger = logger, _ body: @Sendable (PostgresPool) async throws -> Void
  ) async throws {
    var configuration = try PostgresConfiguration(url: url)
    configuration.connectTimeout = .seconds(60)
    let pool = PostgresPool(
      configuration: configuration, size: 4, waitLimit: .seconds(60), loop: loop, logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await pool.run() }
      try await body(pool)
      group.cancelAll()
    }
  }

  // MARK: Requests

  struct Reply {
    let status: Int
    let headers: [String: String]
    let json: [String: Any]
    var code: String? { json["code"] as? String }
    var items: [[String: Any]] { json["items"] as? [[String: Any]] ?? [] }
  }

  func send(
    _ method: String, _ path: String, as token: String? = nil, key: String? = nil, from origin: String? = nil,
    _ body: String? = nil
  ) async throws -> Reply {
    // On a dedicated thread: the client blocks, and the server needs the few threads that tasks share.
    let answer = try await exchange(
      method, path, as: token, body: Array((body ?? "").utf8),
      headers: ["Idempotency-Key": key, "X-Forwarded-For": origin].compactMapValues(\.self))
    return try Self.reply(answer)
  }

  /// The same for a body of any type.
  func upload(
    _ body: [UInt8], type: String = "image/png", as token: String? = nil, headers: [String: String] = [:]
  ) async throws -> Reply {
    try Self.reply(
      try await exchange("POST", "/v1/media", as: token, body: body, type: type, headers: headers))
  }

  /// The server's raw response, compared with the API's document.
  func exchange(
    _ method: String, _ path: String, as token: String? = nil, body: [UInt8] = [], type: String = "application/json",
    headers: [String: String] = [:]
  ) async throws -> LoopbackHTTP.Answer {
    let answer: LoopbackHTTP.Answer = try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { [http] in
        continuation.resume(
          with: Result { try http.send(method, path, token: token, body: body, type: type, headers: headers) })
      }
    }
    DocumentChecker.check(DocumentChecker.Sent(method: method, path: path, body: body), answer)
    return answer
  }

  private static func reply(_ answer: LoopbackHTTP.Answer) throws -> Reply {
    let json = answer.body.isEmpty ? [:] : try JSONSerialization.jsonObject(with: Data(answer.body))
    return Reply(status: answer.status, headers: answer.headers, json: try #require(json as? [String: Any]))
  }

  /// Opens an account and returns its token.
  func open(_ name: String) async throws -> String {
    let reply = try await send("POST", "/v1/accounts", Self.registration(name))
    try #require(reply.status == 201, "\(reply.status) \(reply.json)")
    return try #require(reply.json["token"] as? String)
  }

  static func registration(_ name: String) -> String {
    #"{"username":"\#(name)","email":"\#(name)@example.org","password":"a password","name":"\#(name)"}"#
  }

  /// Posts and returns the post's id.
  func post(_ title: String, as token: String) async throws -> Int {
    let reply = try await send("POST", "/v1/posts", as: token, #"{"title":"\#(title)"}"#)
    try #require(reply.status == 201, "\(reply.status) \(reply.json)")
    return try #require(reply.json["id"] as? Int)
  }

  /// Runs every job waiting in a queue.
  func drain(_ queue: QueueName, mailer: Mailer? = nil) async throws {
    var registry = JobRegistry<PostgresLedger>()
    SocialJobs.register(
      in: &registry, mailer: mailer, store: store,
      studio: PictureStudio(store: store, workshop: PictureWorkshop()))
    let worker = Worker(
      broker: broker, ledger: PostgresLedger(pool: pool), registry: registry,
      configuration: WorkerConfiguration(queues: [queue: 2]), logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await worker.run() }
      while try await count("SELECT count(*) FROM jobs WHERE queue = \(queue.rawValue)") > 0 {
        try #require(try await count("SELECT count(*) FROM dead_jobs") == 0, "a job was given up")
        try await Task.sleep(for: .milliseconds(2))
      }
      group.cancelAll()
    }
  }

  func count(_ query: PostgresQuery) async throws -> Int { try await pool.query(query)[0].decode(Int.self) }
}
