import Social

/// An event of the stream, as the document describes it.
struct EventDeclaration: Sendable {
  let name: String
  let summary: String
  let schema: Schema
  /// Whether an `id` comes with it, from which a client can resume.
  var hasID = true

  static let all: [EventDeclaration] = [
    EventDeclaration(
      name: "notification", summary: "Another account liked or commented on a post, or follows the account.",
      schema: .object(
        .required("id", .id), .required("type", .integer(0...2), "0 like, 1 comment, 2 follow.", example: 0),
        .required("username", .username, example: "bob"), .optional("postId", .id, example: 42),
        .required("unread", .count, "Including this one.", example: 1))),
    EventDeclaration(
      name: "comment",
      summary: """
        With the notification of a comment on a post of the account's. With `comment`: one was added in a thread that \
        the client shows, whoever wrote it.
        """,
      schema: .object(
        .required("id", .id), .required("postId", .id), .required("username", .username, example: "bob"),
        .required("text", .text, example: "What a light!"), .optional("comment", .named("Comment")))),
    EventDeclaration(
      name: "message", summary: "A message came, or with `own`, another device of the account sent one.",
      schema: .object(
        .required("id", .id), .required("username", .text, "The other account.", example: "bob"),
        .required("own", .boolean), .required("text", .text, example: "Hello!"), .required("createdAt", .date))),
    EventDeclaration(
      name: "read", summary: "A conversation was read on another device.",
      schema: .object(
        .required("username", .text, "The other account.", example: "bob"), .required("upTo", .id),
        .required("unread", .count, "Of all conversations.", example: 0))),
    EventDeclaration(
      name: "checked", summary: "Notifications were seen on another device.",
      schema: .object(.required("unread", .count, example: 0))),
    EventDeclaration(
      name: "lookup", summary: "A lookup that the account asked for has ended.",
      schema: .object(.required("id", .uuid), .required("state", .values("done", "failed"), example: "done"))),
    EventDeclaration(
      name: "celeb", summary: "YouTube answered for a celeb of the account's.",
      schema: .object(
        .required("platform", .platform, example: "youtube"),
        .required("account", .text, example: "UCabcdefghijklmnopqrstuv"),
        .required("title", .text, example: "An Artist"),
        .required("state", .values(CelebState.allCases.map(\.rawValue)), example: "verified"))),
    EventDeclaration(
      name: "top_ten", summary: "A celeb of the account's entered the top ten of a ranking for the first time.",
      schema: .object(
        .required("platform", .platform), .required("account", .text, example: "an.artist"),
        .required("title", .text, example: "an.artist"), .required("by", .values("hearts", "followers")),
        .required("window", .values("day", "week", "month", "all")), .required("rank", .integer(1...10), example: 3))),
    EventDeclaration(
      name: "agreement", summary: "A meeting or an agreement of the account's has changed.",
      schema: .object(
        .required("id", .id),
        .required("state", .values("open", "joined", "sealed", "withdrawn", "ended"), example: "joined"))),
    EventDeclaration(
      name: "comment_deleted", summary: "In a thread that the client shows.",
      schema: .object(.required("postId", .id), .required("id", .id))),
    EventDeclaration(
      name: "likes", summary: "The counts of a post that the client shows: at once, and after changes.",
      schema: .object(.required("postId", .id), .required("likes", .count), .required("comments", .count)),
      hasID: false),
    EventDeclaration(
      name: "post_deleted", summary: "A post that the client shows is gone.",
      schema: .object(.required("postId", .id))),
    EventDeclaration(
      name: "reset", summary: "The client missed too much: read everything again.", schema: .object([])),
  ]

  /// The event as the stream writes it.
  var example: String { (hasID ? "id: 7-3-120-2-1\n" : "") + "event: \(name)\ndata: \(schema.sample.text)\n\n" }

  /// The beginning of a stream.
  static let example = "retry: 3000\nid: 7-3-120-2-0\n: listening\n\n" + (all.first?.example ?? "")
}
