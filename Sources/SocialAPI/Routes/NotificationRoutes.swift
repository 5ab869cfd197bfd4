import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// `notifications`: the viewer's own.
struct NotificationRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool

  func add(to group: RouterGroup<APIContext>) {
    group.on(.listNotifications, use: list)
    group.on(.countUnread, use: unread)
    group.on(.checkNotifications, use: check)
  }

  @Sendable private func list(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let page = try await Notifications.list(
      of: viewer.id, grouped: try request.flag("grouped", default: true), try request.page(), in: pool)
    return try Answer(.ok, PageView(page, NotificationView.init))
  }

  private struct Unread: Encodable {
    var unread: Int
    /// Whether the client shows the red dot.
    var dot: Bool

    init(_ count: Int) { (unread, dot) = (count, count > 0) }
  }

  @Sendable private func unread(_ request: Request, _ context: APIContext) async throws -> Answer {
    try Answer(.ok, Unread(try await Notifications.unread(of: try context.viewer.id, in: pool)))
  }

  private struct Checked: Decodable {
    /// Everything up to and including this notification.
    var upTo: Int?
    var ids: [Int]?
  }

  /// Returns the unread count.
  @Sendable private func check(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let body = try await RequestBody(request, context)
    let checked = try body.decode(Checked.self)
    guard (checked.upTo == nil) != (checked.ids == nil) else {
      throw SocialError(
        .invalid("upTo"), "the body needs either upTo, the id of the last notification seen, or ids, a list",
        field: "upTo")
    }
    return try await jobs.once(request, body, by: viewer.id) { transaction in
      if let id = checked.upTo {
        try await Notifications.check(upTo: id, of: viewer.id, in: transaction.sql)
      } else if let ids = checked.ids {
        try await Notifications.check(ids, of: viewer.id, in: transaction.sql)
      }
      return try Answer(.ok, Unread(try await Notifications.unread(of: viewer.id, in: transaction.sql)))
    }
  }
}
