#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// `reports`, and the notices from operators.
struct SafetyRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool

  func add(to group: RouterGroup<APIContext>) {
    group.on(.report, use: report)
    group.on(.listNotices, use: notices)
  }

  /// One of `post`, `post` with `comment`, `user`, `message` and `agreement`.
  private struct Draft: Decodable {
    var post: Int?
    var comment: Int?
    var user: String?
    var message: Int?
    var agreement: Int?
    var reason: String
    var text: String?

    func target() throws -> Reports.Target {
      switch (post, comment, user, message, agreement) {
      case (let post?, nil, nil, nil, nil): return .post(post)
      case (let post?, let comment?, nil, nil, nil): return .comment(comment, post: post)
      case (nil, nil, let user?, nil, nil): return .user(user)
      case (nil, nil, nil, let message?, nil): return .message(message)
      case (nil, nil, nil, nil, let agreement?): return .agreement(agreement)
      default:
        throw SocialError(
          .invalid("post"),
          "a report must name one subject: a post, a comment with its post, a user by username, a message or an "
            + "agreement by its id",
          field: "post")
      }
    }
  }

  private struct Made: Encodable { let id: Int }

  @Sendable private func report(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let body = try await RequestBody(request, context)
    let wanted = try body.decode(Draft.self)
    let draft = try Reports.Draft(try wanted.target(), reason: wanted.reason, text: wanted.text ?? "")
    return try await jobs.once(request, body, by: viewer.id) { transaction in
      try Answer(.created, Made(id: try await Reports.create(draft, by: viewer.id, in: transaction.sql)))
    }
  }

  private struct NoticeView: Encodable {
    let id: Int
    /// `taken_down`, `restored`, `suspended` or `reopened`.
    let action: String
    /// For example, `post/12`.
    let subject: String
    let reason: String
    let createdAt: Date

    init(_ notice: Notice) {
      id = notice.id
      action = notice.action.rawValue
      subject = notice.subject.description
      reason = notice.reason
      createdAt = notice.createdAt
    }
  }

  @Sendable private func notices(_ request: Request, _ context: APIContext) async throws -> Answer {
    let page = try await Notices.list(of: try context.viewer.id, try request.page(), in: pool)
    return try Answer(.ok, PageView(page, NoticeView.init))
  }
}
