extension APIOperation {
  private static let credentials = Schema.object(
    .required("email", .email), .required("password", .text, example: "a password"))

  static let openAccount = APIOperation(
    id: "openAccount", method: .post, path: "accounts", tag: .accounts, summary: "Creates an account.",
    details: """
      With an Idempotency-Key, a repeated request signs in to the account that the first one opened. The password must \
      be the same.
      """,
    access: .none, parameters: [.cookieSession],
    body: .json(
      .object(
        .optional("username", .username, "Derived from `name` if missing.", example: "ann"), .required("email", .email),
        .required("password", .password), .required("name", .text(1...100), example: "Ann"),
        .optional("major", .text(0...100)), .optional("bio", .text(0...1000)),
        .optional("avatar", .mediaID, "Of a picture uploaded with an upload token."),
        .optional("adult", .boolean, "States that the owner is an adult."))),
    outcomes: [
      .json(
        201,
        .object(
          .required("id", .id), .required("username", .username),
          .required("isConfirmed", .boolean, "False if the address must be confirmed before the first sign-in."),
          .optional(
            "token", .token, "Missing if the address must be confirmed first, and for a cookie session.",
            example: Schema.token.sample)),
        "The account, and a session of it.")
    ],
    codes: [
      .usernameTaken, .emailTaken, .useMedia, .tooManyAttempts, .busy, .wrongCredentials, .accountSuspended,
    ], isIdempotent: true, isBudgeted: true)

  static let signIn = APIOperation(
    id: "signIn", method: .post, path: "sessions", tag: .accounts, summary: "Opens a session.", access: .none,
    parameters: [.cookieSession], body: .json(credentials),
    outcomes: [
      .json(
        201, .object(.optional("token", .token, "Missing for a cookie session.", example: Schema.token.sample)),
        "The session's token.")
    ],
    codes: [.wrongCredentials, .emailNotConfirmed, .accountSuspended, .tooManyAttempts, .busy])

  static let signOut = APIOperation(
    id: "signOut", method: .delete, path: "sessions/current", tag: .accounts, summary: "Ends the current session.",
    outcomes: [.noContent])

  private static let address = Schema.object(.required("email", .text, example: "ann@example.org"))

  static let requestPasswordReset = APIOperation(
    id: "requestPasswordReset", method: .post, path: "password-resets", tag: .accounts,
    summary: "Mails a token for a new password.",
    details: "The answer is the same whether or not an account has the address.", access: .none, body: .json(address),
    outcomes: [.empty(202, "A mail is sent if an account has the address.")],
    codes: [.tooManyAttempts, .mailNotConfigured], isIdempotent: true)

  static let resetPassword = APIOperation(
    id: "resetPassword", method: .post, path: "password-resets/{token}", tag: .accounts,
    summary: "Sets a new password and ends all sessions.", access: .none,
    parameters: [.path("token", .token.saying("From the mail."), .notFound)],
    body: .json(.object(.required("password", .password))), outcomes: [.noContent],
    codes: [.resetExpired, .tooManyAttempts, .busy], isIdempotent: true)

  static let requestConfirmation = APIOperation(
    id: "requestConfirmation", method: .post, path: "email-confirmations", tag: .accounts,
    summary: "Mails a new account's confirmation again.",
    details: "The answer is the same whether or not an account waits for the address.", access: .none,
    body: .json(.object(.required("email", .email))),
    outcomes: [.empty(202, "A mail is sent if an account waits for the address.")],
    codes: [.tooManyAttempts, .mailNotConfigured], isIdempotent: true)

  static let confirmEmail = APIOperation(
    id: "confirmEmail", method: .post, path: "email-confirmations/{token}", tag: .accounts,
    summary: "Confirms an email address.", access: .none,
    parameters: [.path("token", .token.saying("From the mail."), .confirmationExpired)], outcomes: [.noContent],
    codes: [.emailTaken, .tooManyAttempts], isIdempotent: true)

  static let confirmDeletion = APIOperation(
    id: "confirmDeletion", method: .post, path: "account-deletions/{token}", tag: .accounts,
    summary: "Deletes an account without a password.", access: .none,
    parameters: [.path("token", .token.saying("From the mail."), .confirmationExpired)], outcomes: [.noContent],
    codes: [.tooManyAttempts], isIdempotent: true)

  private static let archive = Body(contentType: "application/zip", schema: .binary, example: .null)

  static let fetchExport = APIOperation(
    id: "fetchExport", method: .get, path: "account-exports/{token}", tag: .accounts,
    summary: "Returns the file with all that an account has.",
    details: "A zip archive: JSON and pictures. The token works for seven days.", access: .none,
    parameters: [
      .path("token", .token.saying("From the mail."), .notFound), .header("Range", .text), .header("If-Range", .text),
      .ifNoneMatch,
    ],
    outcomes: [
      APIOperation.Outcome(
        status: 200, summary: "The file.", contents: [archive], headers: [.cacheControl, .eTag]),
      APIOperation.Outcome(
        status: 206, summary: "The part that `Range` selects.", contents: [archive],
        headers: [.cacheControl, .eTag, .contentRange]),
      .empty(302, "It is in an object store.", headers: [.location]),
      .empty(304, "The client has it.", headers: [.eTag]),
      .empty(416, "The range begins after the end.", headers: [.contentRange]),
    ], codes: [.tooManyAttempts])

  // MARK: Own account

  static let requestExport = APIOperation(
    id: "requestExport", method: .post, path: "me/export", tag: .account,
    summary: "Makes a file with all that the account has, and mails a link to it.",
    outcomes: [.empty(202, "The file is being made.")],
    codes: [.noEmail, .tooManyAttempts, .mailNotConfigured, .notFound], isIdempotent: true)

  static let readAccount = APIOperation(
    id: "readAccount", method: .get, path: "me", tag: .account, summary: "Returns the signed-in account.",
    outcomes: [.json(200, .named("OwnProfile"), "The account.")], isConditional: true)

  static let changeAccount = APIOperation(
    id: "changeAccount", method: .patch, path: "me", tag: .account, summary: "Changes the signed-in account.",
    details: "A missing field is unchanged. A former username stays reserved, and redirects, for 30 days.",
    body: .json(
      .object(
        .optional("username", .username), .optional("name", .text(1...100), example: "Ann A."),
        .optional("major", .text(0...100), example: "Painting"), .optional("bio", .text(0...1000)),
        .optional("avatar", Schema.mediaID.orNull, "Null removes the picture."),
        .optional("adult", .boolean, "States that the owner is an adult."))),
    outcomes: [.json(200, .named("OwnProfile"), "The changed account.")],
    codes: [.notFound, .usernameTaken, .tooManyUsernames, .useMedia, .brokenMedia])

  static let deleteAccount = APIOperation(
    id: "deleteAccount", method: .delete, path: "me", tag: .account, summary: "Deletes the signed-in account.",
    body: .json(
      .object(.optional("password", .text, "Required if the account has one.", example: "a password"))),
    outcomes: [.noContent, .empty(202, "The account has no password: its owner gets a mail to confirm the deletion.")],
    codes: [.notFound, .wrongPassword, .noPassword, .tooManyAttempts, .busy, .mailNotConfigured])

  static let changePassword = APIOperation(
    id: "changePassword", method: .put, path: "me/password", tag: .account,
    summary: "Changes the password and ends all other sessions.",
    body: .json(
      .object(
        .required("old", .text, example: "a password"),
        .required("new", .password, example: "another word"))),
    outcomes: [.noContent], codes: [.wrongPassword, .tooManyAttempts, .busy])

  static let changeEmail = APIOperation(
    id: "changeEmail", method: .put, path: "me/email", tag: .account, summary: "Asks for another email address.",
    details: "The account keeps its address until the new one is confirmed.",
    body: .json(
      .object(
        .required("email", .email, example: "ann@example.net"),
        .optional("password", .text, "Required if the account has one.", example: "a password"))),
    outcomes: [.empty(202, "The new address gets a mail.")],
    codes: [.emailTaken, .wrongPassword, .tooManyAttempts, .busy, .mailNotConfigured])

  static let listSessions = APIOperation(
    id: "listSessions", method: .get, path: "me/sessions", tag: .account, summary: "Lists the sessions, newest first.",
    details: "The newest hundred.", parameters: .part, outcomes: [.page(.named("Session"))])

  static let endOtherSessions = APIOperation(
    id: "endOtherSessions", method: .delete, path: "me/sessions", tag: .account,
    summary: "Ends all sessions except the current one.", outcomes: [.noContent])

  static let endSession = APIOperation(
    id: "endSession", method: .delete, path: "me/sessions/{id}", tag: .account, summary: "Ends a session.",
    parameters: [.path("id", .text.saying("From the list of sessions.", example: "0011aabbccdd2233"), .notFound)],
    outcomes: [.noContent])
}
