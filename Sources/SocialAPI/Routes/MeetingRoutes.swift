#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Cryptography
import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// `agreements/meetings`: two devices meet, exchange sealed messages, and seal a record.
struct MeetingRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool
  let attempts: AttemptBook
  /// nil disables agreements.
  let secrets: AgreementSecrets?

  func add(to group: RouterGroup<APIContext>) {
    group.on(.beginMeeting, use: begin)
    group.on(.joinMeeting, use: join)
    group.on(.readMeeting, use: one)
    group.on(.leaveMeeting, use: leave)
    group.on(.openCommitment, use: open)
    group.on(.listSealedMessages, use: messages)
    group.on(.sendSealedMessage, use: send)
    group.on(.sealRecord, use: seal)
  }

  private func meetings() throws(SocialError) -> Meetings {
    Meetings(secrets: try AgreementRoutes.demand(secrets), attempts: attempts)
  }

  private func id(_ context: APIContext) throws -> Int {
    _ = try AgreementRoutes.demand(secrets)
    guard let id = EntityID.parse(try context.parameter("id")) else {
      throw SocialError(.notFound, "there is no such meeting")
    }
    return id
  }

  // MARK: Meeting

  private struct Introduction: Decodable {
    var publicKey: String
    var commitment: String
  }

  private struct Begun: Encodable {
    let id: Int
    let code: String
    let expiresAt: Date
  }

  /// A repeated request begins another meeting: the response contains the code, so it is never stored.
  @Sendable private func begin(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let meetings = try meetings()
    let wanted = try await RequestBody(request, context).decode(Introduction.self)
    let introduction = try MeetingIntroduction(key: wanted.publicKey, commitment: wanted.commitment)
    try await meetings.allowBeginning(by: viewer.id, in: pool)
    let (meeting, code) = try await jobs.transaction {
      try await meetings.begin(introduction, by: viewer.id, in: $0.sql)
    }
    return try Answer(.created, Begun(id: meeting.id, code: code, expiresAt: meeting.expiresAt))
  }

  private struct Joining: Decodable {
    var host: String
    var code: String
    var publicKey: String
    var commitment: String
  }

  /// A repeated request with the same keys returns the same meeting, so this route needs no Idempotency-Key.
  @Sendable private func join(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let meetings = try meetings()
    let wanted = try await RequestBody(request, context).decode(Joining.self)
    let introduction = try MeetingIntroduction(key: wanted.publicKey, commitment: wanted.commitment)
    let meeting = try await meetings.join(
      wanted.host, code: wanted.code, introduction, by: viewer.id, in: pool)
    return try Answer(.ok, MeetingView(meeting))
  }

  @Sendable private func one(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    return try Answer(.ok, MeetingView(try await Meetings.read(try id(context), of: viewer.id, in: pool)))
  }

  @Sendable private func leave(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let id = try id(context)
    try await jobs.transaction { try await Meetings.leave(id, by: viewer.id, in: $0.sql) }
    return .noContent
  }

  // MARK: Messages

  private struct Opening: Decodable { var nonce: String }

  @Sendable private func open(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let id = try id(context)
    let wanted = try await RequestBody(request, context).decode(Opening.self)
    let nonce = try AgreementBytes.read(wanted.nonce, "nonce", 32...32)
    try await jobs.transaction { try await MeetingExchange.open(nonce, id, of: viewer.id, in: $0.sql) }
    return .noContent
  }

  private struct Sealed: Decodable { var body: String }

  private struct SealedView: Encodable {
    let number: Int
    let body: String
  }

  @Sendable private func messages(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let after: Int
    switch request.uri.queryParameters["after"] {
    case nil: after = 0
    case let text?:
      guard let number = Int(text), number >= 0 else {
        throw SocialError(.invalid("after"), "after must be a message's number, or 0", field: "after")
      }
      after = number
    }
    let found = try await MeetingExchange.messages(try id(context), of: viewer.id, after: after, in: pool)
    return try Answer(
      .ok, PageView(try request.part(of: found)) { SealedView(number: $0.number, body: Base64URL.text($0.body)) })
  }

  @Sendable private func send(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let id = try id(context)
    guard let number = Int(try context.parameter("number")), number > 0 else {
      throw SocialError(.invalid("number"), "number must be a message's number, from 1", field: "number")
    }
    let wanted = try await RequestBody(request, context).decode(Sealed.self)
    let body = try AgreementBytes.read(wanted.body, "body", 16...MeetingExchange.maxMessageBytes)
    try await jobs.transaction { try await MeetingExchange.send(body, number: number, id, of: viewer.id, in: $0.sql) }
    return .noContent
  }

  // MARK: Sealing

  private struct Seal: Decodable {
    var hash: String
    var signature: String
    var copy: String
    var expiresAt: Int
  }

  @Sendable private func seal(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let id = try id(context)
    let wanted = try await RequestBody(request, context).decode(Seal.self)
    let seal = try MeetingSeal(
      hash: wanted.hash, signature: wanted.signature, copy: wanted.copy, expiresAt: wanted.expiresAt,
      now: JobClock.now)
    let meeting = try await jobs.transaction { transaction in
      try await MeetingExchange.seal(seal, id, of: viewer.id, in: transaction.sql)
      return try await Meetings.read(id, of: viewer.id, in: transaction.sql)
    }
    return try Answer(.ok, MeetingView(meeting))
  }
}

/// A meeting as one of its devices sees it.
struct MeetingView: Encodable, Sendable {
  let id: Int
  /// `host` or `joiner`.
  let role: String
  /// `open`, `joined`, `sealed` or `ended`.
  let state: String
  /// `expired`, `guessed`, `left` or `replaced`.
  let ending: Nullable<String>
  let expiresAt: Date
  let peer: Nullable<Peer>
  let received: Int
  /// Whether this device has sealed.
  let sealed: Bool

  struct Peer: Encodable, Sendable {
    let account: AccountView
    let publicKey: String
    let commitment: String
    let nonce: Nullable<String>
  }

  init(_ meeting: Meeting) {
    id = meeting.id
    role = meeting.isHost ? "host" : "joiner"
    state = meeting.state.rawValue
    ending = Nullable(meeting.ending?.rawValue)
    expiresAt = meeting.expiresAt
    peer = Nullable(
      meeting.peer.map {
        Peer(
          account: AccountView($0.account), publicKey: Base64URL.text($0.key),
          commitment: Base64URL.text($0.commitment), nonce: Nullable($0.nonce.map { Base64URL.text($0) }))
      })
    received = meeting.received
    sealed = meeting.isSealedByMe
  }
}
