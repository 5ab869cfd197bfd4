extension Components {
  private static let summary: [Schema.Property] = [
    .required("id", .id), .required("username", .username), .required("name", .text, example: "Ann"),
    .required("major", .text, example: "Painting"), .nullable("avatar", .avatar),
  ]

  static let account = Schema.object(summary).saying("An account in a list or beside a post.")

  static let listedAccount = Schema.object(
    summary + [.required("isFollowed", .boolean, "Whether the viewer follows the account.")]
  ).saying("An account in a list, as the viewer sees it.")

  static let restrictedAccount = Schema.object(
    summary + [.required("since", .date, "When it was blocked or muted.")]
  ).saying("An account that the viewer has blocked or muted.")

  private static let page: [Schema.Property] = [
    .required("id", .id), .required("username", .username), .required("name", .text, example: "Ann"),
    .required("major", .text, example: "Painting"), .required("bio", .text, example: "I paint at dawn."),
    .nullable("avatar", .avatar), .required("posts", .count), .required("followers", .count),
    .required("following", .count), .required("isFollowed", .boolean, "Whether the viewer follows the account."),
    .required("isMuted", .boolean, "Whether the viewer has muted it."),
  ]

  static let profile = Schema.object(page).saying("An account's page.")

  static let ownProfile = Schema.object(
    page + [
      .optional("email", .text, "Missing for an account without an address.", example: "ann@example.org"),
      .required("adult", .boolean, "Whether the owner has stated that they are an adult."),
    ]
  ).saying("An account as its owner sees it.")

  static let session = Schema.object(
    .required("id", .text(pattern: "^[0-9a-f]{16}$"), "Grants no access.", example: "0011aabbccdd2233"),
    .nullable("client", .text, "The `User-Agent` that opened it.", example: "curl/8.9"),
    .nullable("network", .text, "The network that opened it.", example: "192.0.2.0/24"),
    .required("createdAt", .date), .required("expiresAt", .date),
    .required("isCurrent", .boolean, "Whether it is the session of this request.", example: true)
  ).saying("A session of the account.")

  static let notice = Schema.object(
    .required("id", .id), .required("action", .values("taken_down", "restored", "suspended", "reopened")),
    .required("subject", .text, "For example `post/12`, or `comment/12/34`: 34 of post 12.", example: "post/12"),
    .required("reason", .text, example: "spam"), .required("createdAt", .date)
  ).saying("What operators did to the account or to what it wrote.")
}
