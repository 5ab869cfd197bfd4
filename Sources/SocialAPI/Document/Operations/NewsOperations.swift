import Social

extension APIOperation.Parameter {
  /// The other account of a conversation.
  static let peer = path(
    "name", .text(1...100).saying("A username; `~ID` for a deleted or suspended account.", example: "bob"), .notFound)
}

extension APIOperation {
  // MARK: Notifications

  static let listNotifications = APIOperation(
    id: "listNotifications", method: .get, path: "notifications", tag: .notifications,
    summary: "Lists notifications, newest first.",
    parameters: [
      .query("grouped", .boolean.saying("Whether likes of one post are one item; true without it.", example: true))
    ] + .page,
    outcomes: [.page(.named("Notification"))], isConditional: true)

  static let countUnread = APIOperation(
    id: "countUnread", method: .get, path: "notifications/unread", tag: .notifications,
    summary: "Returns how many notifications are unread.",
    outcomes: [.json(200, .named("Unread"), "The count.", example: ["unread": 2, "dot": true])], isConditional: true)

  static let checkNotifications = APIOperation(
    id: "checkNotifications", method: .post, path: "notifications/checked", tag: .notifications,
    summary: "Marks notifications as seen.", details: "Takes either field; both or neither is `invalid_upTo`.",
    body: .json(
      .object(
        .optional("upTo", .id, "This notification and all earlier ones.", example: 42),
        .optional("ids", .array(.id, 1...1000), "These notifications."))),
    outcomes: [.json(200, .named("Unread"), "How many are still unread.", example: ["unread": 0, "dot": false])],
    codes: [.notFound], isIdempotent: true)

  // MARK: Messages

  static let listConversations = APIOperation(
    id: "listConversations", method: .get, path: "conversations", tag: .messages,
    summary: "Lists the conversations, latest first.", parameters: .page, outcomes: [.page(.named("Conversation"))],
    isConditional: true)

  static let countUnreadMessages = APIOperation(
    id: "countUnreadMessages", method: .get, path: "conversations/unread", tag: .messages,
    summary: "Returns how many messages are unread in all conversations.",
    outcomes: [.json(200, .object(.required("unread", .count, example: 0)), "The count.")], isConditional: true)

  static let listMessages = APIOperation(
    id: "listMessages", method: .get, path: "conversations/{name}/messages", tag: .messages,
    summary: "Lists a conversation's messages, newest first.", parameters: [.peer] + .page,
    outcomes: [.page(.named("Message"))], codes: [.cannotMessageYourself], isConditional: true)

  static let sendMessage = APIOperation(
    id: "sendMessage", method: .post, path: "conversations/{name}/messages", tag: .messages,
    summary: "Sends a message.", parameters: [.peer],
    body: .json(.object(.required("text", .text(1...2000), "Not only spaces.", example: "Hello!"))),
    outcomes: [.json(201, .named("Message"), "The message.")], codes: [.cannotMessageYourself, .tooManyMessages],
    isIdempotent: true)

  static let readConversation = APIOperation(
    id: "readConversation", method: .post, path: "conversations/{name}/read", tag: .messages,
    summary: "Marks a conversation as read.", parameters: [.peer],
    body: .json(.object(.required("upTo", .count, "This message and all earlier ones.", example: 42))),
    outcomes: [.json(200, .object(.required("unread", .count, example: 0)), "Unread messages of all conversations.")],
    codes: [.cannotMessageYourself], isIdempotent: true)

  // MARK: Events

  static let listen = APIOperation(
    id: "listen", method: .get, path: "events", tag: .events, summary: "Streams what is new for the account.",
    details: """
      The stream begins with `retry: 3000` and an `id`. A client that lost its connection sends the last `id` it received as \
      `Last-Event-ID`, and the stream resumes there. Comment lines keep the connection alive.
      """,
    parameters: [
      .query(
        "posts", .text.saying("Ids of up to \(EventFeed.maxPosts) posts that the client shows.", example: "42,43")),
      .header("Last-Event-ID", .text.saying("The last `id` received.", example: "7-3-120-2-1")),
    ],
    outcomes: [
      Outcome(
        status: 200, summary: "The events, until the client or the session leaves.",
        contents: [Body(contentType: "text/event-stream", schema: .text, example: .string(EventDeclaration.example))],
        headers: [.cacheControl])
    ], codes: [.tooManyStreams, .busy])
}
