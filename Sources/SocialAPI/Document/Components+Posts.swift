import Social

extension Components {
  static let post = Schema.object(
    .required("id", .id, "Increases over time."), .required("author", .named("Account")),
    .required("title", .text, example: "Dawn"), .required("description", .text, example: "Over the river."),
    .required("media", .array(.named("Picture")), "In the author's order."),
    .nullable("image", .address.deprecated, "The first picture. Read `media`.", example: .null),
    .required("createdAt", .date), .nullable("editedAt", .date, "Null if it was never edited."),
    .required("likes", .count), .required("comments", .count), .required("isLiked", .boolean),
    .required("isMine", .boolean, example: true)
  ).saying("A post as the viewer sees it.")

  static let fanOut = Schema.object(
    .required("mode", .values("push", "pull"), "`pull`: followers' feeds read the post from its author."),
    .required("followers", .count), .required("delivered", .count), .required("done", .boolean),
    .nullable("startedAt", .date), .nullable("finishedAt", .date, example: .null)
  ).saying("How far a post has come into its followers' feeds.")

  static let comment = Schema.object(
    .required("id", .id, "Increases over time."), .required("author", .named("Account")),
    .required("text", .text, example: "What a light!"), .required("createdAt", .date)
  ).saying("A comment on a post.")

  static let unread = Schema.object(
    .required("unread", .count), .required("dot", .boolean, "Whether to show the red dot.", example: true)
  ).saying("How many notifications are unread.")

  private static let actor = Schema.object(
    .required("uid", .id, "The same as `id`."), .required("id", .id), .required("username", .username),
    .required("name", .text), .required("major", .text), .nullable("avatar", .avatar))

  private static let notifiedPost = Schema.object(
    .required("id", .id), .required("title", .text, example: "Dawn"),
    .nullable("picture", .address, "The first picture.", example: .null))

  private static let notifiedComment = Schema.object(
    .required("id", .id), .required("text", .text, "The beginning of the text.", example: "What a light!"))

  static let notification = Schema.object(
    .required("id", .id, "Changes when a group grows."),
    .required("type", .integer(0...2), "0 like, 1 comment, 2 follow.", example: 0),
    .required("checked", .integer(0...1), "1 once the account has seen it.", example: 0),
    .required("creationDate", .integer, "Of the latest event; seconds since 1970.", example: 1_795_771_800),
    .required("uid", .id, "The newest actor; 0 if it is gone."), .nullable("username", .username),
    .optional("postId", .id, "The post that was liked or commented on.", example: 42),
    .optional("commentId", .id),
    .optional("post", notifiedPost, "Missing if the post is deleted.", example: notifiedPost.sample),
    .optional("comment", notifiedComment, "Missing if the comment is deleted."),
    .required("count", .integer(1...Int.max), "How many events it stands for."),
    .optional("isFollowed", .boolean, "For a follow: whether the reader follows back."),
    .required("actors", .array(actor), "A few, newest first.")
  ).saying("A like, comment or follow; likes of one post are one item.")

  static let message = Schema.object(
    .required("id", .id, "Increases over time."), .required("own", .boolean, "Whether the viewer wrote it."),
    .required("text", .text, example: "Hello!"), .required("createdAt", .date)
  ).saying("A message.")

  static let conversation = Schema.object(
    .required(
      "with", .named("Account"), "The other account; `~ID` instead of the username of a deleted or suspended one."),
    .required("last", .named("Message")), .required("unread", .count)
  ).saying("A conversation in the list.")

  // MARK: Pictures

  static let size = Schema.object(
    .required("url", .address, example: "/media/vJ0nB2mX7kQp4sT9wLz1Yg/thumb"),
    .required("width", .count, "In pixels.", example: 320), .required("height", .count, example: 240)
  ).saying("One size of a picture.")

  private static func large(_ size: String) -> JSONLiteral {
    ["url": .string("/media/vJ0nB2mX7kQp4sT9wLz1Yg/\(size)"), "width": 640, "height": 480]
  }

  static let sizes = Schema.object(
    .required("thumb", .named("Size"), "Up to 320 pixels."),
    .required("feed", .named("Size"), "Up to 1080 pixels.", example: large("feed")),
    .required("full", .named("Size"), "Up to 2048 pixels.", example: large("full"))
  ).saying("The sizes of a picture.")

  private static let pictureFields: [Schema.Property] = [
    .required("url", .address, "The size `feed`.", example: "/media/vJ0nB2mX7kQp4sT9wLz1Yg/feed"),
    .required("width", .count, "Of the upload, in pixels.", example: 640), .required("height", .count, example: 480),
    .required("sizes", .named("Sizes")),
  ]

  static let picture = Schema.object([.required("id", .mediaID)] + pictureFields).saying("A picture of a post.")

  static let upload = Schema.object(
    [.required("id", .mediaID), .required("state", .values(Media.State.allCases.map(\.rawValue)))] + pictureFields + [
      .optional("reason", .text, "Why it failed.")
    ]
  ).saying("An upload as its owner sees it.")
}
