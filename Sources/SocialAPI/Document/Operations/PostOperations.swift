import Social

extension APIOperation.Parameter {
  static let post = path("id", .id.saying("The post's id."), .notFound)
}

extension APIOperation {
  private static let title = Schema.text(1...200).saying("Not only spaces.", example: "Dawn")
  private static let description = Schema.text(0...20_000)
  private static let media = Schema.array(.mediaID, 0...10)
  private static let image = Schema.null.saying("Refused unless null: upload pictures, and send their ids in `media`.")

  static let createPost = APIOperation(
    id: "createPost", method: .post, path: "posts", tag: .posts, summary: "Writes a post.",
    details: "It appears in every follower's feed.",
    body: .json(
      .object(
        .required("title", title), .optional("description", description, example: "Over the river."),
        .optional("media", media, "Own pictures, in display order."), .optional("image", image))),
    outcomes: [.json(201, .named("Post"), "The post.")], codes: [.notFound, .useMedia, .brokenMedia],
    isIdempotent: true, isBudgeted: true)

  static let searchPosts = APIOperation(
    id: "searchPosts", method: .get, path: "posts", tag: .posts, summary: "Finds posts by words, newest first.",
    details: "Each word must occur in the title or in the first 500 characters of the description.",
    parameters: [.query("query", .text(0...100).saying("Words to search for.", example: "Dawn"))] + .page,
    outcomes: [.page(.named("Post"))], isConditional: true)

  static let readPost = APIOperation(
    id: "readPost", method: .get, path: "posts/{id}", tag: .posts, summary: "Returns a post.", parameters: [.post],
    outcomes: [.json(200, .named("Post"), "The post.")], isConditional: true)

  static let editPost = APIOperation(
    id: "editPost", method: .patch, path: "posts/{id}", tag: .posts, summary: "Changes one of the caller's posts.",
    details: "A missing field is unchanged.", parameters: [.post],
    body: .json(
      .object(
        .optional("title", title, "Not only spaces.", example: "Sunrise"), .optional("description", description),
        .optional("media", media, "Replaces all pictures."), .optional("image", image))),
    outcomes: [.json(200, .named("Post"), "The changed post.")], codes: [.notYours, .useMedia, .brokenMedia])

  static let deletePost = APIOperation(
    id: "deletePost", method: .delete, path: "posts/{id}", tag: .posts, summary: "Deletes one of the caller's posts.",
    parameters: [.post], outcomes: [.noContent], codes: [.notYours])

  static let readFanOut = APIOperation(
    id: "readFanOut", method: .get, path: "posts/{id}/fan-out", tag: .posts,
    summary: "Returns how far a post's fan-out has come.", parameters: [.post],
    outcomes: [.json(200, .named("FanOut"), "The progress.")])

  // MARK: Feeds

  static let readHomeFeed = APIOperation(
    id: "readHomeFeed", method: .get, path: "feed/home", tag: .feeds, summary: "Lists everybody's posts, newest first.",
    parameters: .page, outcomes: [.page(.named("Post"))], isConditional: true)

  static let readFollowingFeed = APIOperation(
    id: "readFollowingFeed", method: .get, path: "feed/following", tag: .feeds,
    summary: "Lists the posts of followed accounts, newest first.",
    parameters: [.query("own", .boolean.saying("Includes the caller's posts; defaults to false.", example: true))]
      + .page,
    outcomes: [.page(.named("Post"))], isConditional: true)

  // MARK: Likes

  static let like = APIOperation(
    id: "like", method: .put, path: "posts/{id}/like", tag: .likes, summary: "Likes a post.", parameters: [.post],
    outcomes: [.noContent], isBudgeted: true)

  static let unlike = APIOperation(
    id: "unlike", method: .delete, path: "posts/{id}/like", tag: .likes, summary: "Takes a like back.",
    parameters: [.post], outcomes: [.noContent])

  static let listLikes = APIOperation(
    id: "listLikes", method: .get, path: "me/likes", tag: .likes, summary: "Lists the liked posts.",
    parameters: .page, outcomes: [.page(.named("Post"))], isConditional: true)

  // MARK: Comments

  static let createComment = APIOperation(
    id: "createComment", method: .post, path: "posts/{id}/comments", tag: .comments, summary: "Comments on a post.",
    parameters: [.post],
    body: .json(.object(.required("text", .text(1...2000), "Not only spaces.", example: "What a light!"))),
    outcomes: [.json(201, .named("Comment"), "The comment.")], isIdempotent: true, isBudgeted: true)

  static let listComments = APIOperation(
    id: "listComments", method: .get, path: "posts/{id}/comments", tag: .comments, summary: "Lists a post's comments.",
    parameters: [
      .post, .query("order", .values("newest", "oldest").saying("What comes first; `newest` without it.")),
    ] + .page,
    outcomes: [.page(.named("Comment"))], isConditional: true)

  static let deleteComment = APIOperation(
    id: "deleteComment", method: .delete, path: "posts/{id}/comments/{comment}", tag: .comments,
    summary: "Deletes the caller's comment, or any comment on the caller's post.",
    parameters: [.post, .path("comment", .id.saying("The comment's id."), .notFound)], outcomes: [.noContent],
    codes: [.notYours])

  // MARK: Reports

  static let report = APIOperation(
    id: "report", method: .post, path: "reports", tag: .safety, summary: "Reports something to the operators.",
    details: """
      Names one subject: `post`; `post` and `comment`; `user`; `message`; or `agreement`. Anything else is \
      `invalid_post`. A repeated report returns the same id.
      """,
    body: .json(
      .object(
        .optional("post", .id), .optional("comment", .id, "With its `post`."),
        .optional("user", .username, example: "bob"), .optional("message", .id, "One that the account received."),
        .optional("agreement", .id, "An agreement or a meeting that the account is part of."),
        .required("reason", .values(Reports.Reason.allCases.map(\.rawValue))),
        .optional("text", .text(0...1000), example: "Ten links in an hour."))),
    outcomes: [.json(201, .object(.required("id", .id)), "The report.")],
    codes: [.notFound, .cannotReportYourself, .tooManyReports], isIdempotent: true)
}
