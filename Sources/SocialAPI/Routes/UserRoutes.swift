import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// `users`: profiles, search, following.
struct UserRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool

  func add(to group: RouterGroup<APIContext>) {
    group.on(.readUser, use: profile)
    group.on(.follow, use: follow)
    group.on(.unfollow, use: unfollow)
    group.on(.listFollowers, use: followers)
    group.on(.listFollowing, use: following)
    group.on(.listUserPosts, use: posts)
  }

  @Sendable private func profile(_ request: Request, _ context: APIContext) async throws -> Answer {
    let profile = try await Accounts.profile(
      of: try context.parameter("name"), seenBy: try context.viewer.id, in: pool)
    return try Answer(.ok, ProfileView(profile))
  }

  @Sendable private func follow(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let followee = try await Accounts.id(of: try context.parameter("name"), seenBy: viewer.id, in: pool)
    try await jobs.transaction { _ = try await Follows.follow(followee, by: viewer.id, in: $0) }
    return .noContent
  }

  @Sendable private func unfollow(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let followee = try await Accounts.id(of: try context.parameter("name"), seenBy: viewer.id, in: pool)
    try await jobs.transaction { _ = try await Follows.unfollow(followee, by: viewer.id, in: $0) }
    return .noContent
  }

  @Sendable private func followers(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let page = try request.page()
    let account = try await Accounts.id(of: try context.parameter("name"), seenBy: viewer.id, in: pool)
    let list = try await Follows.followers(of: account, page, seenBy: viewer.id, in: pool)
    return try Answer(.ok, PageView(list) { ListedAccountView($0.account, isFollowed: $0.isFollowed) })
  }

  @Sendable private func following(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let page = try request.page()
    let account = try await Accounts.id(of: try context.parameter("name"), seenBy: viewer.id, in: pool)
    let list = try await Follows.following(account, page, seenBy: viewer.id, in: pool)
    return try Answer(.ok, PageView(list) { ListedAccountView($0.account, isFollowed: $0.isFollowed) })
  }

  @Sendable private func posts(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let page = try request.page()
    let account = try await Accounts.id(of: try context.parameter("name"), seenBy: viewer.id, in: pool)
    let posts = try await Posts.posts(of: account, seenBy: viewer.id, page, in: pool)
    return try Answer(.ok, PageView(posts, PostView.init))
  }
}
