import Social

/// The named schemas of the document.
enum Components {
  static let all: [(name: String, schema: Schema)] = [
    ("Problem", problem), ("Account", account), ("ListedAccount", listedAccount),
    ("RestrictedAccount", restrictedAccount), ("Profile", profile), ("OwnProfile", ownProfile), ("Session", session),
    ("Post", post), ("FanOut", fanOut), ("Comment", comment), ("Notification", notification), ("Unread", unread),
    ("Message", message), ("Conversation", conversation), ("Picture", picture), ("Size", size), ("Sizes", sizes),
    ("Upload", upload), ("Celeb", celeb), ("CelebProfile", celebProfile), ("Ranks", ranks), ("RankPoint", rankPoint),
    ("RankedCeleb", rankedCeleb), ("Ranking", ranking), ("Channel", channel), ("Lookup", lookup),
    ("Certificate", certificate), ("Purchase", purchase), ("Meeting", meeting), ("SealedMessage", sealedMessage),
    ("Template", template), ("Agreement", agreement), ("Notice", notice), ("Job", job), ("JobDetail", jobDetail),
  ]

  private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.schema) })

  static func schema(_ name: String) -> Schema? { byName[name] }

  static let problem = Schema.object(
    .required("type", .text, "Always `about:blank`.", example: "about:blank"),
    .required("title", .text, "The status in words.", example: "Not Found"),
    .required("status", .integer(300...599), example: 404),
    .required("code", .text, "Stable; programs compare it.", example: "not_found"),
    .required("detail", .text, "The cause and the remedy, for people.", example: "there is no such post"),
    .optional("field", .text, "The field or parameter that is not valid."),
    .optional("username", .username, "Of a renamed account: its name now.")
  ).saying("An error (RFC 9457).")
}

// MARK: Common types

extension Schema {
  /// The id of a post, comment, notification, message or account.
  static let id = Schema.integer(EntityID.all).saying("Exact in JavaScript.", example: 42)
  static let cursor = Schema.integer(EntityID.all).saying("", example: 41)
  static let username = Schema.text(1...FieldLimits.username).saying(
    "Letters, digits, `.`, `_`, `-` and `+`; the first is a letter or a digit.", example: "ann")
  static let email = Schema(.string(Text(lengths: 3...254, format: "email"))).saying("", example: "ann@example.org")
  static let password = Schema.text(8...1024).saying("At most 1,024 bytes.", example: "a password")
  static let token = Schema.bytes(32).saying("", example: "q83vEjRWeJq83vEjRWeJq83vEjRWeJq83vEjRWeJq80")
  static let mediaID = Schema.bytes(16).saying("The id of an uploaded picture.", example: "vJ0nB2mX7kQp4sT9wLz1Yg")
  static let uuid = Schema.text(format: "uuid").saying("", example: "0d7c2f1e-5b8a-4c3d-9e6f-1a2b3c4d5e6f")
  static let address = Schema.text.saying("A path on this server, or an address elsewhere.")
  static let platform = Schema.values(CelebPlatform.allCases.map(\.rawValue)).saying(
    "In a request also its number: 0 for youtube, 1 for instagram.", example: "instagram")
  static let celebAccount = Schema.text(1...30).saying(
    "A channel's id on YouTube, a username on Instagram.", example: "an.artist")
  static let avatar = Schema.address.saying("The account's picture.", example: "/media/vJ0nB2mX7kQp4sT9wLz1Yg/thumb")
  static let jws = Schema.text.saying("A JWS (RFC 7515).", example: "eyJhbGciOiJFZERTQSJ9.eyJpYXQiOjF9.c2ln")

  /// A list's page.
  static func page(of item: Schema) -> Schema {
    .object(
      .required("items", .array(item)),
      .nullable("next", .cursor, "`before` of the next page; null at the end."))
  }
}

/// Limits that `Social` enforces and keeps to itself.
enum FieldLimits {
  static let username = 100
}
