import DurableJobs
import Foundation
import Hummingbird
import LibPQClient
import Social

/// `celebs`, `me/celebs` with its hearts, and `rankings`.
struct CelebRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool
  let reads: any SocialReader
  /// The maximum number of celebs per account.
  let limit: Int
  let lookups: Lookups
  /// Concurrent hearts share a transaction, because many fans love the same celeb at the same time.
  private let hearts: Batcher<Int, HeartRequest, Result<Answer, SocialError>>

  init(
    jobs: AppJobs, pool: PostgresPool, reads: any SocialReader, limit: Int, lookups: Lookups
  ) {
    self.jobs = jobs
    self.pool = pool
    self.reads = reads
    self.limit = limit
    self.lookups = lookups
    hearts = Batcher(upTo: 256) { batch in
      try await jobs.once(batch) { hearts, transaction in
        try await Hearts.give(hearts, in: transaction).map(Self.answer)
      }
    }
  }

  func add(to group: RouterGroup<APIContext>) {
    group.on(.readCeleb, use: show)
    group.on(.readHistory, use: history)
    group.on(.listCelebs, use: list)
    group.on(.registerCeleb, use: register)
    group.on(.editCeleb, use: edit)
    group.on(.removeCeleb, use: remove)
    group.on(.replaceCeleb, use: replace)
    group.on(.giveHeart, use: giveHeart)
    group.on(.readRanking, use: ranking)
  }

  // MARK: Celebs

  @Sendable private func show(_ request: Request, _ context: APIContext) async throws -> Answer {
    let celeb = try await CelebProfile.of(try context.celebAccount(), seenBy: try context.viewer.id, in: pool)
    return try Answer(.ok, CelebProfileView(celeb))
  }

  @Sendable private func history(_ request: Request, _ context: APIContext) async throws -> Answer {
    _ = try context.viewer
    let account = try context.celebAccount()
    let key = try request.rankingKey(on: account.platform.rawValue)
    let points = try await Rankings.history(of: account, in: key, in: reads)
    return try Answer(.ok, PageView(try request.part(of: points), RankPointView.init))
  }

  @Sendable private func list(_ request: Request, _ context: APIContext) async throws -> Answer {
    let celebs = try await Celebs.list(of: try context.viewer.id, in: pool)
    return try Answer(.ok, PageView(try request.part(of: celebs), CelebView.init))
  }

  @Sendable private func register(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let account = try context.celebAccount()
    let celeb = try await jobs.transaction { transaction in
      let celeb = try await Celebs.register(account, by: viewer.id, limit: limit, in: transaction)
      try await lookups.begin(for: celeb, by: viewer.id, in: transaction)
      return celeb
    }
    return try Answer(.ok, CelebView(celeb))
  }

  private struct Edit: Decodable {
    /// An empty note removes the note.
    var note: String?
    var position: Int?
  }

  @Sendable private func edit(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let account = try context.celebAccount()
    let wanted = try await RequestBody(request, context).decode(Edit.self)
    let edit = try Celebs.Edit(note: wanted.note, position: wanted.position)
    let celeb = try await jobs.transaction { try await Celebs.edit(account, edit, of: viewer.id, in: $0.sql) }
    return try Answer(.ok, CelebView(celeb))
  }

  private struct Named: Decodable {
    /// A platform's name or number.
    struct Platform: Decodable {
      let name: String

      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        do {
          name = String(try container.decode(Int.self))
        } catch DecodingError.typeMismatch {
          name = try container.decode(String.self)
        }
      }
    }

    var platform: Platform
    var account: String
  }

  @Sendable private func replace(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let former = try context.celebAccount()
    let body = try await RequestBody(request, context)
    let named = try body.decode(Named.self)
    let account = try CelebAccount(platform: named.platform.name, account: named.account)
    return try await jobs.once(request, body, by: viewer.id) { transaction in
      let celeb = try await Celebs.replace(former, by: account, of: viewer.id, limit: limit, in: transaction)
      try await lookups.begin(for: celeb, by: viewer.id, in: transaction)
      return try Answer(.ok, CelebView(celeb))
    }
  }

  @Sendable private func remove(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let account = try context.celebAccount()
    try await jobs.transaction { _ = try await Celebs.remove(account, by: viewer.id, in: $0) }
    return .noContent
  }

  // MARK: Hearts

  private typealias HeartRequest = (key: IdempotencyKeys.Request?, asked: Heart)

  private struct Given: Encodable {
    let count: Int
    let nextAt: Date
  }

  @Sendable private func giveHeart(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let account = try context.celebAccount()
    let body = try await RequestBody(request, context)
    let key = try request.idempotencyKey(saying: body.bytes, by: viewer.id)
    return try await hearts.answer((key, Heart(to: account, by: viewer.id)), for: viewer.id).get()
  }

  private static func answer(_ outcome: Result<Hearts.Given, SocialError>) throws -> Result<Answer, SocialError> {
    switch outcome {
    case .success(let given): .success(try Answer(.created, Given(count: given.count, nextAt: given.nextAt)))
    case .failure(let refusal): .failure(refusal)
    }
  }

  // MARK: Rankings

  private struct Ranking: Encodable {
    let items: [RankedCelebView]
    let next: Nullable<Int>
    let computedAt: Nullable<Date>
  }

  @Sendable private func ranking(_ request: Request, _ context: APIContext) async throws -> Answer {
    _ = try context.viewer
    let key = try request.rankingKey(on: try context.parameter("platform"))
    let page = try await Rankings.page(of: key, try request.page(), in: reads)
    return try Answer(
      .ok,
      Ranking(
        items: page.items.map(RankedCelebView.init), next: Nullable(page.next), computedAt: Nullable(page.computedAt)))
  }
}

extension Request {
  /// The ranking that the query selects.
  ///
  /// - Throws: `unknown_platform`, `invalid_by`, `invalid_window`.
  fileprivate func rankingKey(on platform: String) throws(SocialError) -> RankingKey {
    let parameters = uri.queryParameters
    return try RankingKey(
      platform: platform, by: parameters["by"].map(String.init), window: parameters["window"].map(String.init))
  }
}

extension APIContext {
  /// The celeb in the path.
  ///
  /// - Throws: `unknown_platform`, `invalid_account`.
  func celebAccount() throws -> CelebAccount {
    try CelebAccount(platform: try parameter("platform"), account: try parameter("account"))
  }
}
