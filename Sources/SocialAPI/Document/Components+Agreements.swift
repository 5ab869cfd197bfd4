import DurableJobsAdmin

extension Components {
  private static let peer = Schema.object(
    .required("account", .named("Account")), .required("publicKey", .bytes(64)), .required("commitment", .bytes(32)),
    .nullable("nonce", .bytes(32), "Null until the peer has opened its commitment."))

  static let meeting = Schema.object(
    .required("id", .id), .required("role", .values("host", "joiner")),
    .required("state", .values("open", "joined", "sealed", "ended"), example: "joined"),
    .nullable("ending", .values("expired", "guessed", "left", "replaced"), "Why it ended.", example: .null),
    .required("expiresAt", .date), .nullable("peer", peer, "Null until another device has joined."),
    .required("received", .count, "How many messages the peer has sent."),
    .required("sealed", .boolean, "Whether this device has sealed.")
  ).saying("A meeting as one of its devices sees it.")

  static let sealedMessage = Schema.object(
    .required("number", .integer(1...8), "From 1."), .required("body", .bytes(16...98_304), "Ciphertext.")
  ).saying("A sealed message.")

  static let template = Schema.object(
    .required("id", .text, example: "portrait"), .required("language", .values("en", "ko")),
    .required("title", .text), .required("text", .text)
  ).saying("A text on offer.")

  static let agreement = Schema.object(
    .nullable("withdrawnAt", .date, "Comes first: clients must show it.", example: .null),
    .nullable("withdrawnBy", .values("me", "peer"), example: .null), .required("id", .id, "That of the meeting."),
    .required("role", .values("host", "joiner")),
    .nullable("peer", .named("Account"), "Null if its account is gone or not visible."), .required("sealedAt", .date),
    .required("expiresAt", .date),
    .required("receipt", .jws, "The server's statement as of now, verified with `/.well-known/jwks.json`."),
    .required("copy", .bytes(28...65_536), "Ciphertext.")
  ).saying("A sealed agreement.")

  // MARK: Operators

  static let job = Schema.object(
    .required("id", .text, example: "0193f2a0-0000-7000-8000-000000000001"),
    .required("kind", .text, example: "posts.fan-out"), .required("queue", .text, example: "fanout"),
    .required("state", .values(JobState.allCases.map(\.rawValue)), example: "delayed"),
    .required("priority", .text, example: "normal"), .required("attempts", .count),
    .required("createdAt", .date), .optional("runAt", .date, "Missing if it is due at once."),
    .optional("diedAt", .date), .optional("endedAt", .date), .optional("uniqueKey", .text),
    .optional("error", .text, "The latest.")
  ).saying("A job in one line.")

  private static let failure = Schema.object(
    .required("attempt", .integer(1...Int.max)), .required("at", .date), .required("error", .text),
    .required("worker", .text))

  private static let event = Schema.object(
    .required("at", .date), .required("what", .text, example: "enqueued"), .optional("detail", .text))

  static let jobDetail = Schema.object(
    .required("job", .named("Job")), .required("version", .integer, "Of the payload.", example: 1),
    .required("payload", .text, "JSON for most kinds.", example: #"{"post":1,"author":2}"#),
    .required("failures", .array(failure), "Oldest first.", example: []),
    .optional("isInBroker", .boolean, "Missing if the job is not pending.", example: true),
    .required("timeline", .array(event), "Oldest first."),
    .optional("traceID", .text, "Of the request that enqueued it.")
  ).saying("Everything known about a job.")
}
