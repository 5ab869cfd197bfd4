import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// A field that once held a picture's address and now refuses any value.
private struct RefusedAddress: Decodable {
  init(from decoder: any Decoder) throws {
    guard try decoder.singleValueContainer().decodeNil() else { throw SocialError.imageAddress }
  }
}

/// `posts`.
struct PostRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool
  let feeds: FeedRules

  func add(to group: RouterGroup<APIContext>) {
    group.on(.createPost, use: create)
    group.on(.readPost, use: show)
    group.on(.editPost, use: edit)
    group.on(.deletePost, use: delete)
    group.on(.readFanOut, use: fanOut)
  }

  private struct Draft: Decodable {
    var title: String
    var description: String?
    /// The ids of the author's pictures.
    var media: [String]?
    /// Refused: clients once sent a picture's address here.
    var image: RefusedAddress?
  }

  @Sendable private func create(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let body = try await RequestBody(request, context)
    let wanted = try body.decode(Draft.self)
    let draft = try PostDraft(
      title: wanted.title, description: wanted.description ?? "", media: wanted.media ?? [])
    return try await jobs.once(request, body, by: viewer.id) { transaction in
      let post = try await Posts.create(draft, by: viewer.id, pushLimit: feeds.pushLimit, in: transaction)
      return try Answer(.created, PostView(post))
    }
  }

  @Sendable private func show(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    return try Answer(.ok, PostView(try await Posts.post(try context.postID(), seenBy: viewer.id, in: pool)))
  }

  private struct Change: Decodable {
    var title: String?
    var description: String?
    /// The pictures to show; an empty list removes all.
    var media: [String]?
    var image: RefusedAddress?
  }

  @Sendable private func edit(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let id = try context.postID()
    let change = try await RequestBody(request, context).decode(Change.self)
    let changes = try PostChanges(title: change.title, description: change.description, media: change.media)
    let post = try await jobs.transaction { transaction in
      try await Posts.edit(id, changes, by: viewer.id, in: transaction.sql)
      return try await Posts.post(id, seenBy: viewer.id, in: transaction.sql)
    }
    return try Answer(.ok, PostView(post))
  }

  @Sendable private func delete(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let id = try context.postID()
    try await jobs.transaction { try await Posts.delete(id, by: viewer.id, in: $0) }
    return .noContent
  }

  @Sendable private func fanOut(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let progress = try await FanOutProgress.of(try context.postID(), seenBy: viewer.id, in: pool)
    return try Answer(.ok, FanOutView(progress))
  }
}
