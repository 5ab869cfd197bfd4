import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// `posts/ID/comments`.
struct CommentRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool

  func add(to group: RouterGroup<APIContext>) {
    group.on(.createComment, use: create)
    group.on(.listComments, use: list)
    group.on(.deleteComment, use: delete)
  }

  private struct Draft: Decodable { var text: String }

  @Sendable private func create(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let post = try context.postID()
    let body = try await RequestBody(request, context)
    let draft = try CommentDraft(text: try body.decode(Draft.self).text)
    return try await jobs.once(request, body, by: viewer.id) { transaction in
      let id = try await Comments.create(draft, on: post, by: viewer.id, in: transaction)
      let comment = try await Comments.comment(id, on: post, seenBy: viewer.id, in: transaction.sql)
      return try Answer(.created, CommentView(comment))
    }
  }

  @Sendable private func list(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let text = request.uri.queryParameters["order"].map(String.init) ?? Comments.Order.newest.rawValue
    guard let order = Comments.Order(rawValue: text) else {
      throw SocialError(.invalid("order"), "order must be newest or oldest", field: "order")
    }
    let page = try await Comments.comments(
      on: try context.postID(), seenBy: viewer.id, order, try request.page(), in: pool)
    return try Answer(.ok, PageView(page, CommentView.init))
  }

  @Sendable private func delete(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let post = try context.postID()
    guard let comment = EntityID.parse(try context.parameter("comment")) else {
      throw SocialError(.notFound, "there is no such comment")
    }
    try await jobs.transaction { try await Comments.delete(comment, on: post, by: viewer.id, in: $0) }
    return .noContent
  }
}
