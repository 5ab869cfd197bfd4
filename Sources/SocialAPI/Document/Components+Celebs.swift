import Social

extension Components {
  private static let state = Schema.values(CelebState.allCases.map(\.rawValue)).saying(
    "`pending`: YouTube is not asked yet. `unknown`: it has no such channel. `unchecked`: Instagram cannot be asked.",
    example: "unchecked")
  private static let thumbnail = Schema.text.saying("The address of the platform's picture.").orNull

  private static let names: [Schema.Property] = [
    .required("platform", .platform), .required("account", .celebAccount),
    .required("title", .text, example: "an.artist"), .required("thumbnail", thumbnail, example: .null),
    .required("url", .text, "Of the account's page.", example: "https://www.instagram.com/an.artist/"),
    .required("state", state),
  ]

  static let celeb = Schema.object(
    names + [
      .required("since", .date), .required("count", .count, "Hearts given since then."),
      .nullable("recent", .date, "The last heart.", example: .null),
      .nullable("nextAt", .date, "When the next heart is possible; null if it is now.", example: .null),
      .nullable("note", .text(0...500), "Visible only to the fan.", example: .null),
      .required("position", .integer(1...Int.max), "In the fan's list."),
    ]
  ).saying("A celeb on the viewer's list.")

  static let ranks = Schema.object(
    .nullable("day", .integer(1...Int.max)), .nullable("week", .integer(1...Int.max)),
    .nullable("month", .integer(1...Int.max)), .nullable("all", .integer(1...Int.max))
  ).saying("Places in the rankings of one measure; null where the celeb is not listed.")

  static let celebProfile = Schema.object(
    names + [
      .required("followers", .count, "Fans on this server."), .required("hearts", .count),
      .required(
        "ranks", .object(.required("hearts", .named("Ranks")), .required("followers", .named("Ranks")))),
      .required("isMine", .boolean, "Whether it is on the viewer's list.", example: true), .nullable("since", .date),
      .nullable("count", .count, "Hearts that the viewer gave."),
      .nullable("nextAt", .date, "When the next heart is possible; null if it is now.", example: .null),
    ]
  ).saying("A celeb's page.")

  static let channel = Schema.object(
    .required("platform", .values("youtube")), .required("account", .text, "As in `me/celebs`.", example: .string(id)),
    .required("id", .text, "The channel's id; the same as `account`.", example: .string(id)),
    .required("title", .text, example: "An Artist"), .nullable("handle", .text, "With its `@`.", example: "@anartist"),
    .required("thumbnail", thumbnail, example: .null),
    .required("url", .text, example: .string("https://www.youtube.com/channel/\(id)")), .nullable("publishedAt", .date),
    .nullable("subscribers", .count, "YouTube's number; null if hidden or unknown.")
  ).saying("A channel on YouTube.")

  private static let id = "UCabcdefghijklmnopqrstuv"

  static let lookup = Schema.object(
    .required("id", .uuid),
    .required("state", .values(Lookup.State.allCases.map(\.rawValue)), example: "done"),
    .required("items", .array(.named("Channel"))),
    .optional("retryAt", .date, "When a parked lookup resumes."),
    .optional("reason", .text, "Why it failed or is repeated: YouTube's code, or one with an underscore."),
    .optional("message", .text, "The same, for people.")
  ).saying("A question to YouTube.")

  // MARK: Rankings

  static let rankPoint = Schema.object(
    .required("day", .text(format: "date"), "In the rankings' time zone.", example: "2026-11-27"),
    .required("rank", .integer(1...Int.max)), .required("count", .count, "Hearts or followers.")
  ).saying("A celeb's rank at the end of a day; today's, now.")

  static let rankedCeleb = Schema.object(
    .required("rank", .integer(1...Int.max)),
    .nullable("previousRank", .integer(1...Int.max), "In the snapshot before; null if it was not listed."),
    .nullable("change", .integer, "How many ranks it rose.", example: 0), .required("account", .celebAccount),
    .nullable("title", .text, example: "an.artist"), .required("thumbnail", thumbnail, example: .null),
    .required("hearts", .count, "In the window."), .required("followers", .count, "In the window.")
  ).saying("A celeb in a ranking.")

  static let ranking = Schema.object(
    .required("items", .array(.named("RankedCeleb"))), .nullable("next", .cursor, "Names its snapshot."),
    .nullable("computedAt", .date, "Null before the first snapshot.")
  ).saying("A page of a ranking.")

  // MARK: Certificates and purchases

  static let certificate = Schema.object(
    .required("platform", .platform), .required("account", .celebAccount), .required("username", .username),
    .required("since", .date), .required("hearts", .count), .required("rank", .integer(1...Int.max)),
    .required("fans", .integer(1...Int.max)), .required("issuedAt", .date)
  ).saying("What a certificate states.")

  static let purchase = Schema.object(
    .required("source", .values("operator", "notice", "storekit"), example: "notice"),
    .required("receipt", .text, "The store's id.", example: "r-1"),
    .nullable("product", .text, "The store's id.", example: "two-places"),
    .required("celebs", .integer(1...1000), "How many places it grants.", example: 2),
    .nullable("grantedAt", .date, "Null if only its refund has arrived."),
    .nullable("refundedAt", .date, example: .null)
  ).saying("A purchase or a grant.")
}
