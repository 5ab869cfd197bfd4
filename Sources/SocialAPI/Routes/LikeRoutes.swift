import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// `posts/ID/like` and `me/likes`.
struct LikeRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool

  func add(to group: RouterGroup<APIContext>) {
    group.on(.like, use: like)
    group.on(.unlike, use: unlike)
    group.on(.listLikes, use: liked)
  }

  @Sendable private func like(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let post = try context.postID()
    try await jobs.transaction { _ = try await Likes.like(post, by: viewer.id, in: $0) }
    return .noContent
  }

  @Sendable private func unlike(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let post = try context.postID()
    try await jobs.transaction { _ = try await Likes.unlike(post, by: viewer.id, in: $0) }
    return .noContent
  }

  @Sendable private func liked(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let page = try await Likes.posts(likedBy: viewer.id, try request.page(), in: pool)
    return try Answer(.ok, PageView(page, PostView.init))
  }
}
