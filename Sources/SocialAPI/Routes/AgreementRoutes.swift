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

/// `agreements`: sealed records, and the backup of the keys that open them.
struct AgreementRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool
  /// nil disables agreements.
  let secrets: AgreementSecrets?

  func add(to group: RouterGroup<APIContext>) {
    group.on(.listAgreements, use: list)
    group.on(.listTemplates, use: templates)
    group.on(.readBackup, use: backup)
    group.on(.keepBackup, use: keepBackup)
    group.on(.deleteBackup, use: deleteBackup)
    group.on(.openBackup, use: openBackup)
    group.on(.readAgreement, use: one)
    group.on(.deleteAgreement, use: delete)
    group.on(.withdraw, use: withdraw)
  }

  @discardableResult
  static func demand(_ secrets: AgreementSecrets?) throws(SocialError) -> AgreementSecrets {
    guard let secrets else {
      throw SocialError(
        .agreementsOff,
        "agreements are disabled on this server: FANMILL_AGREEMENTS is off, or FANMILL_CERTIFICATE_KEY is "
          + "not set")
    }
    return secrets
  }

  private func id(_ context: APIContext) throws -> Int {
    guard let id = EntityID.parse(try context.parameter("id")) else {
      throw SocialError(.notFound, "there is no such agreement")
    }
    return id
  }

  // MARK: Agreements

  /// A withdrawal comes first because clients must show it.
  private struct Item: Encodable {
    let withdrawnAt: Nullable<Date>
    /// `me` or `peer`.
    let withdrawnBy: Nullable<String>
    let id: Int
    /// `host` or `joiner`.
    let role: String
    let peer: Nullable<AccountView>
    let sealedAt: Date
    let expiresAt: Date
    let receipt: String
    let copy: String

    init(_ agreement: SealedAgreement, signedBy key: SigningKey) throws {
      withdrawnAt = Nullable(agreement.withdrawnAt)
      withdrawnBy = Nullable(agreement.isWithdrawnByHost.map { $0 == agreement.isHost ? "me" : "peer" })
      id = agreement.id
      role = agreement.isHost ? "host" : "joiner"
      peer = Nullable(agreement.peer.map { AccountView($0) })
      sealedAt = agreement.sealedAt
      expiresAt = agreement.expiresAt
      receipt = try agreement.receipt(signedBy: key, now: JobClock.now)
      copy = Base64URL.text(agreement.copy)
    }
  }

  private struct List: Encodable {
    let items: [Item]
    let next: Nullable<Int>
  }

  @Sendable private func list(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let key = try await Self.demand(secrets).signing.current(in: pool)
    let page = try await SealedAgreements.list(of: viewer.id, try request.page(), in: pool)
    return try Answer(
      .ok, List(items: page.items.map { try Item($0, signedBy: key) }, next: Nullable(page.next)))
  }

  @Sendable private func one(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let key = try await Self.demand(secrets).signing.current(in: pool)
    let found = try await SealedAgreements.one(try id(context), of: viewer.id, in: pool)
    return try Answer(.ok, try Item(found, signedBy: key))
  }

  @Sendable private func delete(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    try Self.demand(secrets)
    let id = try id(context)
    try await jobs.transaction { try await SealedAgreements.delete(id, of: viewer.id, in: $0.sql) }
    return .noContent
  }

  private struct Withdrawn: Encodable {
    let withdrawnAt: Date
    let id: Int
  }

  /// A repeated request changes nothing: the first withdrawal remains.
  @Sendable private func withdraw(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    try Self.demand(secrets)
    let id = try id(context)
    let date = try await jobs.transaction { try await SealedAgreements.withdraw(id, by: viewer.id, in: $0.sql) }
    return try Answer(.ok, Withdrawn(withdrawnAt: date, id: id))
  }

  // MARK: Templates

  private struct TemplateView: Encodable {
    let id: String
    let language: String
    let title: String
    let text: String
  }

  /// In the language of `?language=`.
  @Sendable private func templates(_ request: Request, _ context: APIContext) async throws -> Answer {
    _ = try context.viewer
    try Self.demand(secrets)
    let wanted = request.uri.queryParameters["language"].map(String.init) ?? "en"
    guard let language = AgreementTemplate.Language(rawValue: wanted) else {
      let all = AgreementTemplate.Language.allCases.map(\.rawValue).joined(separator: " or ")
      throw SocialError(.invalid("language"), "language must be \(all)", field: "language")
    }
    let page = try request.part(of: AgreementTemplate.all(in: language))
    return try Answer(
      .ok,
      PageView(page) { TemplateView(id: $0.id, language: language.rawValue, title: $0.title, text: $0.text) })
  }

  // MARK: Backup

  private struct Draft: Decodable {
    var salt: String
    var proof: String
    var secret: String
    var locked: String
  }

  /// A repeated request stores the same backup, so this route needs no Idempotency-Key, which would store the body.
  @Sendable private func keepBackup(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let backups = AgreementBackups(secrets: try Self.demand(secrets))
    let wanted = try await RequestBody(request, context).decode(Draft.self)
    let draft = try AgreementBackups.Draft(
      salt: wanted.salt, proof: wanted.proof, secret: wanted.secret, locked: wanted.locked)
    try await jobs.transaction { try await backups.keep(draft, of: viewer.id, in: $0.sql) }
    return .noContent
  }

  private struct Known: Encodable {
    let salt: String
    let triesLeft: Int
    let updatedAt: Date
  }

  @Sendable private func backup(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    try Self.demand(secrets)
    let found = try await AgreementBackups.summary(of: viewer.id, in: pool)
    return try Answer(
      .ok, Known(salt: Base64URL.text(found.salt), triesLeft: found.triesLeft, updatedAt: found.updatedAt))
  }

  @Sendable private func deleteBackup(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    try Self.demand(secrets)
    try await jobs.transaction { try await AgreementBackups.delete(of: viewer.id, in: $0.sql) }
    return .noContent
  }

  private struct Try: Decodable { var proof: String }

  private struct Opened: Encodable {
    let locked: String
    let secret: String
  }

  /// Every attempt counts, whatever its Idempotency-Key: a response that contains the secret is never stored.
  @Sendable private func openBackup(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let backups = AgreementBackups(secrets: try Self.demand(secrets))
    let wanted = try await RequestBody(request, context).decode(Try.self)
    let proof = try AgreementBytes.read(wanted.proof, "proof", 32...32)
    let (locked, secret) = try await backups.open(proof: proof, of: viewer.id, in: pool)
    return try Answer(.ok, Opened(locked: Base64URL.text(locked), secret: Base64URL.text(secret)))
  }
}
