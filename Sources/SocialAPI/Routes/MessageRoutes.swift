import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// `conversations`: the viewer's own.
struct MessageRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool

  func add(to group: RouterGroup<APIContext>) {
    group.on(.listConversations, use: list)
    group.on(.countUnreadMessages, use: unread)
    group.on(.listMessages, use: messages)
    group.on(.sendMessage, use: send)
    group.on(.readConversation, use: read)
  }

  @Sendable private func list(_ request: Request, _ context: APIContext) async throws -> Answer {
    let page = try await Messages.conversations(of: try context.viewer.id, try request.page(), in: pool)
    return try Answer(.ok, PageView(page, ConversationView.init))
  }

  @Sendable private func messages(_ request: Request, _ context: APIContext) async throws -> Answer {
    let page = try await Messages.messages(
      of: try context.viewer.id, with: try context.parameter("name"), try request.page(), in: pool)
    return try Answer(.ok, PageView(page, MessageView.init))
  }

  private struct Draft: Decodable { var text: String }

  @Sendable private func send(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let name = try context.parameter("name")
    let body = try await RequestBody(request, context)
    let draft = try MessageDraft(text: try body.decode(Draft.self).text)
    return try await jobs.once(request, body, by: viewer.id) { transaction in
      try Answer(.created, MessageView(try await Messages.send(draft, to: name, by: viewer.id, in: transaction.sql)))
    }
  }

  private struct Read: Decodable { var upTo: Int }

  private struct Unread: Encodable { var unread: Int }

  @Sendable private func unread(_ request: Request, _ context: APIContext) async throws -> Answer {
    try Answer(.ok, Unread(unread: try await Messages.unread(of: try context.viewer.id, in: pool)))
  }

  /// Returns the unread count of all conversations.
  @Sendable private func read(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let name = try context.parameter("name")
    let body = try await RequestBody(request, context)
    let upTo = try body.decode(Read.self).upTo
    return try await jobs.once(request, body, by: viewer.id) { transaction in
      try await Messages.read(upTo: upTo, of: viewer.id, with: name, in: transaction.sql)
      return try Answer(.ok, Unread(unread: try await Messages.unread(of: viewer.id, in: transaction.sql)))
    }
  }
}
