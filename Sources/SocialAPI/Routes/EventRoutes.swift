import HTTPTypes
import Hummingbird
import LibPQClient
import NIOCore
import Social

/// `events`: the account's news as server-sent events, while the client listens.
struct EventRoutes: Sendable {
  static let path = APIOperation.listen.fullPath

  let hub: EventHub
  let pool: PostgresPool

  func add(to group: RouterGroup<APIContext>) {
    group.on(.listen, use: listen)
  }

  /// With `posts`, includes events of these posts. With `Last-Event-ID`, which a browser sends when it reconnects,
  /// resumes from that event.
  @Sendable private func listen(_ request: Request, _ context: APIContext) async throws -> Response {
    let session = try context.signedIn
    let posts = try Self.posts(request)
    var (cursor, sessionEnd, visible) = try await EventFeed.present(
      of: session.viewer.id, session: session.token, posts: posts, in: pool)
    let last = request.headers[.lastEventID].map { EventFeedCursor(text: $0) }
    if let last = last.flatMap(\.self) { cursor.goBack(to: last) }
    // What came after an id that cannot be read, such as another version's, is unknown.
    let reset = if case .some(nil) = last { try EventText.text(of: .reset) } else { "" }
    let opening = EventText.opening(cursor) + reset
    let client = EventClient(context.channel)
    let id = try hub.listen(
      session.viewer, session.token, from: cursor, posts: Array(visible), until: sessionEnd, to: client)
    let gone = try posts.filter { !visible.contains($0) }.map { try EventText.text(of: .postRemoved($0)) }
    // The body below may never be written, because the client may be gone already. The connection's end frees the place
    // in either case.
    context.channel.closeFuture.whenComplete { [hub] _ in hub.leave(id) }
    return Response(
      status: .ok,
      headers: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store", .xAccelBuffering: "no"],
      body: ResponseBody { [hub] writer in
        defer { hub.leave(id) }
        try await writer.write(ByteBuffer(string: opening + gone.joined()))
        hub.begin(id)
        await client.waitForEnd()
        try await writer.finish(nil)
      })
  }

  /// The posts whose threads the client has open.
  private static func posts(_ request: Request) throws -> [Int] {
    guard let text = request.uri.queryParameters["posts"] else { return [] }
    let ids = text.split(separator: ",", omittingEmptySubsequences: false).map { EntityID.parse($0) }
    guard ids.count <= EventFeed.maxPosts, !ids.contains(nil) else {
      throw SocialError(
        .invalid("posts"), "posts must be the ids of up to \(EventFeed.maxPosts) posts, separated by commas",
        field: "posts")
    }
    return Array(Set(ids.compactMap(\.self)))
  }
}
