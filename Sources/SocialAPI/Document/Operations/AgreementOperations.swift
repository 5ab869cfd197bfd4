extension APIOperation {
  private static let meeting = Parameter.path("id", .id.saying("The meeting's id."), .notFound)
  private static let introduction: [Schema.Property] = [
    .required("publicKey", .bytes(64), "An X25519 and an Ed25519 key."), .required("commitment", .bytes(32)),
  ]
  private static let known = Outcome.json(200, .named("Meeting"), "The meeting.")

  static let beginMeeting = APIOperation(
    id: "beginMeeting", method: .post, path: "agreements/meetings", tag: .meetings, summary: "Begins a meeting.",
    details: "Ends the account's meeting before.", body: .json(.object(introduction)),
    outcomes: [
      .json(
        201,
        .object(
          .required("id", .id), .required("code", .text(pattern: "^[0-9]{6}$"), "For two minutes.", example: "042137"),
          .required("expiresAt", .date)),
        "The meeting.")
    ], codes: [.notFound, .adultStatementNeeded, .tooManyAgreements, .tooManyAttempts, .agreementsOff])

  static let joinMeeting = APIOperation(
    id: "joinMeeting", method: .post, path: "agreements/meetings/join", tag: .meetings, summary: "Joins a meeting.",
    details: "May be repeated with the same keys.",
    body: .json(
      .object(
        [
          .required("host", .text, "The host's username.", example: "bob"),
          .required("code", .text, example: "042137"),
        ] + introduction)),
    outcomes: [known],
    codes: [
      .notFound, .wrongCode, .cannotMeetYourself, .adultStatementNeeded, .tooManyAgreements, .tooManyAttempts,
      .agreementsOff,
    ])

  static let readMeeting = APIOperation(
    id: "readMeeting", method: .get, path: "agreements/meetings/{id}", tag: .meetings, summary: "Returns a meeting.",
    parameters: [meeting], outcomes: [known], codes: [.agreementsOff])

  static let leaveMeeting = APIOperation(
    id: "leaveMeeting", method: .delete, path: "agreements/meetings/{id}", tag: .meetings,
    summary: "Leaves a meeting and ends it.", parameters: [meeting], outcomes: [.noContent], codes: [.agreementsOff])

  static let openCommitment = APIOperation(
    id: "openCommitment", method: .put, path: "agreements/meetings/{id}/opening", tag: .meetings,
    summary: "Opens the caller's commitment.", parameters: [meeting],
    body: .json(.object(.required("nonce", .bytes(32)))), outcomes: [.noContent],
    codes: [.meetingEnded, .agreementsOff])

  static let listSealedMessages = APIOperation(
    id: "listSealedMessages", method: .get, path: "agreements/meetings/{id}/messages", tag: .meetings,
    summary: "Lists the peer's messages.",
    parameters: [meeting, .query("after", .count.saying("Only later ones; 0 without it.", example: 0))] + .part,
    outcomes: [.page(.named("SealedMessage"))], codes: [.agreementsOff])

  static let sendSealedMessage = APIOperation(
    id: "sendSealedMessage", method: .put, path: "agreements/meetings/{id}/messages/{number}", tag: .meetings,
    summary: "Sends the peer a sealed message.",
    parameters: [meeting, .path("number", .integer(1...8).saying("The next one, from 1."), .invalid("number"))],
    body: .json(
      .object(.required("body", .bytes(16...98_304), "Ciphertext."))),
    outcomes: [.noContent], codes: [.meetingEnded, .meetingNotOpened, .messageDiffers, .agreementsOff])

  static let sealRecord = APIOperation(
    id: "sealRecord", method: .put, path: "agreements/meetings/{id}/seal", tag: .meetings, summary: "Seals the record.",
    details: "The second seal of the same record makes the agreement.", parameters: [meeting],
    body: .json(
      .object(
        .required("hash", .bytes(32)), .required("signature", .bytes(64)), .required("copy", .bytes(28...65_536)),
        .required("expiresAt", .integer, "Seconds since 1970, within a year.", example: 1_800_000_000))),
    outcomes: [known], codes: [.meetingEnded, .meetingNotOpened, .forgedSeal, .sealsDiffer, .agreementsOff])

  // MARK: Agreements

  private static let agreement = Parameter.path("id", .id.saying("The agreement's id."), .notFound)

  static let listAgreements = APIOperation(
    id: "listAgreements", method: .get, path: "agreements", tag: .agreements,
    summary: "Lists the caller's agreements, newest first.", parameters: .page, outcomes: [.page(.named("Agreement"))],
    codes: [.agreementsOff])

  static let listTemplates = APIOperation(
    id: "listTemplates", method: .get, path: "agreements/templates", tag: .agreements,
    summary: "Lists the texts on offer.",
    parameters: [.query("language", .values("en", "ko").saying("`en` without it."))] + .part,
    outcomes: [.page(.named("Template"))], codes: [.agreementsOff])

  static let readAgreement = APIOperation(
    id: "readAgreement", method: .get, path: "agreements/{id}", tag: .agreements,
    summary: "Returns one of the caller's agreements.",
    parameters: [agreement], outcomes: [.json(200, .named("Agreement"), "The agreement.")], codes: [.agreementsOff])

  static let deleteAgreement = APIOperation(
    id: "deleteAgreement", method: .delete, path: "agreements/{id}", tag: .agreements,
    summary: "Deletes the caller's copy of an agreement.", parameters: [agreement], outcomes: [.noContent],
    codes: [.agreementsOff])

  static let withdraw = APIOperation(
    id: "withdraw", method: .post, path: "agreements/{id}/withdrawal", tag: .agreements,
    summary: "Withdraws from an agreement.", details: "The first withdrawal counts.", parameters: [agreement],
    outcomes: [
      .json(200, .object(.required("withdrawnAt", .date), .required("id", .id)), "When it was withdrawn.")
    ], codes: [.agreementsOff])

  // MARK: Backup

  static let readBackup = APIOperation(
    id: "readBackup", method: .get, path: "agreements/backup", tag: .agreements,
    summary: "Returns what is known of the backup without its passcode.",
    outcomes: [
      .json(
        200,
        .object(
          .required("salt", .bytes(16)), .required("triesLeft", .integer(0...10), example: 10),
          .required("updatedAt", .date)),
        "The backup.")
    ], codes: [.notFound, .agreementsOff])

  static let keepBackup = APIOperation(
    id: "keepBackup", method: .put, path: "agreements/backup", tag: .agreements,
    summary: "Stores a backup of the keys in place of the one before.",
    body: .json(
      .object(
        .required("salt", .bytes(16)), .required("proof", .bytes(32)), .required("secret", .bytes(32)),
        .required("locked", .bytes(28...262_144)))),
    outcomes: [.noContent], codes: [.agreementsOff])

  static let deleteBackup = APIOperation(
    id: "deleteBackup", method: .delete, path: "agreements/backup", tag: .agreements, summary: "Deletes the backup.",
    outcomes: [.noContent], codes: [.notFound, .agreementsOff])

  static let openBackup = APIOperation(
    id: "openBackup", method: .post, path: "agreements/backup/open", tag: .agreements, summary: "Opens the backup.",
    details: "The tenth wrong passcode destroys it.", body: .json(.object(.required("proof", .bytes(32)))),
    outcomes: [
      .json(200, .object(.required("locked", .bytes(28...262_144)), .required("secret", .bytes(32))), "The keys.")
    ], codes: [.notFound, .wrongPasscode, .backupDestroyed, .agreementsOff])
}
