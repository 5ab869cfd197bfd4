import Hummingbird
import LibPQClient
import Social

/// `users?query=`, `posts?query=`.
struct SearchRoutes: Sendable {
  private let searches: BatchedSearches

  init(pool: PostgresPool, reads: any SocialReader) { searches = BatchedSearches(pool: pool, in: reads) }

  /// - Parameter group: a group that resolves no sessions. One statement finds both results and session.
  func add(to group: RouterGroup<APIContext>) {
    group.on(.searchUsers, use: users)
    group.on(.searchPosts, use: posts)
  }

  @Sendable private func users(_ request: Request, _ context: APIContext) async throws -> Answer {
    let found = try await searches.accounts(
      request.searchQuery, for: try context.sessionToken(of: request), try request.page())
    return try Answer(.ok, PageView(found) { ListedAccountView($0.account, isFollowed: $0.isFollowed) })
  }

  @Sendable private func posts(_ request: Request, _ context: APIContext) async throws -> Answer {
    let found = try await searches.posts(
      request.searchQuery, for: try context.sessionToken(of: request), try request.page())
    return try Answer(.ok, PageView(found, PostView.init))
  }
}
