/// A `code` of the API's problems: its status, and what it means.
struct ProblemCode: Sendable, Hashable {
  let status: Int
  let code: String
  let meaning: String

  init(_ status: Int, _ code: String, _ meaning: String) {
    self.status = status
    self.code = code
    self.meaning = meaning
  }

  /// A field that is missing, or has a wrong type or value.
  static func invalid(_ field: String) -> ProblemCode {
    ProblemCode(422, "invalid_\(field)", "`\(field)` is missing or not valid; `detail` states what is.")
  }
}

extension ProblemCode {
  // MARK: Any request

  static let malformedBody = ProblemCode(400, "malformed_body", "The body cannot be read in its media type.")
  static let requestTimeout = ProblemCode(408, "request_timeout", "The client sent too slowly.")
  static let tooManyConnections = ProblemCode(
    429, "too_many_connections", "The client has as many connections open as it may.")
  static let noRoom = ProblemCode(503, "too_many_connections", "The server has as many connections open as it can.")
  static let malformedRequest = ProblemCode(400, "malformed_request", "The request is not well-formed.")
  static let notSignedIn = ProblemCode(
    401, "not_signed_in", "The request has no token, or its token is unknown or expired.")
  static let notFound = ProblemCode(404, "not_found", "It does not exist, or the account may not see it.")
  static let bodyTooLarge = ProblemCode(413, "body_too_large", "The body is larger than the route accepts.")
  static let idempotencyKeyReused = ProblemCode(
    422, "idempotency_key_reused", "The Idempotency-Key was used for another request.")
  static let rateLimited = ProblemCode(
    429, "rate_limited", "The hour's budget is spent; `Retry-After` says when a request is possible.")
  static let tooManyAttempts = ProblemCode(
    429, "too_many_attempts", "Too many attempts were made; `Retry-After` says when another is possible.")
  static let internalError = ProblemCode(
    500, "internal", "The server failed; its log has the reason under the trace id in `traceparent`.")
  static let unavailable = ProblemCode(
    503, "unavailable", "A server behind the API does not answer: repeat the request after `Retry-After`.")
  static let busy = ProblemCode(503, "busy", "The server has no room for the request: repeat it after a few seconds.")
  static let storageFull = ProblemCode(503, "storage_full", "The database is full; reading still works.")

  // MARK: Accounts

  static let moved = ProblemCode(
    301, "moved", "The account was renamed less than 30 days ago; `username` and `Location` have its name.")
  static let movedPermanently = ProblemCode(
    308, "moved", "The account was renamed less than 30 days ago; `username` and `Location` have its name.")
  static let wrongCredentials = ProblemCode(
    401, "wrong_credentials", "No account has this email address and password.")
  static let wrongPassword = ProblemCode(403, "wrong_password", "This is not the account's password.")
  static let accountSuspended = ProblemCode(403, "account_suspended", "Operators have suspended the account.")
  static let emailNotConfirmed = ProblemCode(
    403, "email_not_confirmed", "The account's first address is not confirmed yet.")
  static let usernameTaken = ProblemCode(
    409, "username_taken", "Another account has the username, or had it less than 30 days ago.")
  static let emailTaken = ProblemCode(409, "email_taken", "Another account has the email address.")
  static let noPassword = ProblemCode(
    409, "no_password", "The account has neither a password nor an email address: an operator can delete it.")
  static let noEmail = ProblemCode(409, "no_email", "The account has no email address.")
  static let resetExpired = ProblemCode(410, "reset_expired", "The token is expired or was used.")
  static let confirmationExpired = ProblemCode(
    410, "confirmation_expired", "The token is expired or was used, or a later one replaced it.")
  static let tooManyUsernames = ProblemCode(
    429, "too_many_usernames", "The account has changed its username five times within 30 days.")
  static let mailNotConfigured = ProblemCode(503, "mail_not_configured", "The server sends no mail.")

  // MARK: People

  static let notYours = ProblemCode(403, "not_yours", "It belongs to another account.")
  static let cannotFollowYourself = ProblemCode(409, "cannot_follow_yourself", "An account cannot follow itself.")
  static let cannotBlockYourself = ProblemCode(
    409, "cannot_block_yourself", "An account cannot block or mute itself.")
  static let cannotReportYourself = ProblemCode(
    409, "cannot_report_yourself", "A report must be about another account or what it wrote.")
  static let cannotMessageYourself = ProblemCode(
    409, "cannot_message_yourself", "A conversation needs another account.")
  static let tooManyMessages = ProblemCode(
    429, "too_many_messages", "The account has sent as many messages as allowed in a minute.")
  static let tooManyReports = ProblemCode(429, "too_many_reports", "The account has made 30 reports in an hour.")
  static let tooManyStreams = ProblemCode(429, "too_many_streams", "The account has five streams open.")

  // MARK: Pictures

  static let uploadExpired = ProblemCode(401, "upload_expired", "The upload token is expired or was used.")
  static let mediaInUse = ProblemCode(409, "media_in_use", "A post or a profile shows the picture.")
  static let mediaQuota = ProblemCode(409, "media_quota", "The account's pictures fill its quota.")
  static let mediaGone = ProblemCode(410, "media_gone", "The picture existed, and is no longer available.")
  static let unsupportedMedia = ProblemCode(415, "unsupported_media", "The bytes are in no accepted format.")
  static let brokenMedia = ProblemCode(422, "broken_media", "The picture is damaged or has too many pixels.")
  static let useMedia = ProblemCode(
    422, "use_media", "The field takes the id of an uploaded picture, not an address.")
  static let emptyBody = ProblemCode(422, "empty_body", "The body has no bytes.")
  static let pictureStorageFull = ProblemCode(507, "storage_full", "The store of pictures is full.")

  // MARK: Celebs

  static let celebNotRegistered = ProblemCode(
    404, "celeb_not_registered", "The account has not registered the celeb.")
  static let celebLimit = ProblemCode(409, "celeb_limit", "The account has registered as many celebs as allowed.")
  static let celebRegistered = ProblemCode(409, "celeb_registered", "The account has registered the celeb already.")
  static let unknownPlatform = ProblemCode(422, "unknown_platform", "The platform is neither youtube nor instagram.")
  static let searchUnsupported = ProblemCode(422, "search_unsupported", "Instagram has no search.")
  static let heartTooSoon = ProblemCode(
    429, "heart_too_soon", "The last heart for this celeb was given less than ten minutes ago.")
  static let lookupShareSpent = ProblemCode(
    429, "lookup_share_spent", "The account has used its share of the day's YouTube budget.")
  static let quotaExhausted = ProblemCode(
    503, "quota_exhausted", "The day's YouTube budget is spent, and no earlier answer is stored.")
  static let lookupsUnavailable = ProblemCode(503, "lookups_unavailable", "YouTube cannot be queried.")

  // MARK: Certificates and purchases

  static let certificateRevoked = ProblemCode(
    410, "certificate_revoked", "The fan has removed the celeb since, or the account is gone.")
  static let forgedCertificate = ProblemCode(
    422, "forged_certificate", "The signature does not match the certificate.")
  static let malformedCertificate = ProblemCode(422, "malformed_certificate", "This is not a certificate.")
  static let certificatesOff = ProblemCode(503, "certificates_off", "The server issues no certificates.")
  static let forgedNotice = ProblemCode(403, "forged_notice", "The signature is not from an accepted store.")
  static let receiptTaken = ProblemCode(409, "receipt_taken", "The receipt belongs to another account.")
  static let malformedNotice = ProblemCode(422, "malformed_notice", "This is not a signed purchase notice.")
  static let purchasesOff = ProblemCode(503, "purchases_off", "The server has no key for notices of this kind.")

  // MARK: Agreements

  static let adultStatementNeeded = ProblemCode(
    403, "adult_statement_needed", "The owner has not stated that they are an adult: `PATCH /v1/me`.")
  static let forgedSeal = ProblemCode(403, "forged_seal", "The signature does not match the record.")
  static let wrongPasscode = ProblemCode(403, "wrong_passcode", "The passcode is wrong; the attempt counts.")
  static let wrongCode = ProblemCode(404, "wrong_code", "The host has no meeting with this code.")
  static let cannotMeetYourself = ProblemCode(409, "cannot_meet_yourself", "A meeting needs two accounts.")
  static let meetingEnded = ProblemCode(409, "meeting_ended", "The meeting is not joined yet, or is over.")
  static let meetingNotOpened = ProblemCode(
    409, "meeting_not_opened", "A device has not opened its commitment yet.")
  static let messageDiffers = ProblemCode(409, "message_differs", "Another message has this number.")
  static let sealsDiffer = ProblemCode(409, "seals_differ", "The two devices have sealed different records.")
  static let tooManyAgreements = ProblemCode(
    409, "too_many_agreements", "The account keeps as many agreements as allowed.")
  static let backupDestroyed = ProblemCode(410, "backup_destroyed", "The tenth wrong passcode destroyed the backup.")
  static let agreementsOff = ProblemCode(503, "agreements_off", "The server has no agreements.")

  // MARK: Operators

  static let readOnly = ProblemCode(403, "read_only", "The token may only read.")
  static let adminOnly = ProblemCode(403, "admin_only", "The route is for operators.")
  static let unknownQueue = ProblemCode(404, "unknown_queue", "No queue has this name.")
  static let alreadyPending = ProblemCode(409, "already_pending", "A pending job has this unique key.")
  static let unknownKind = ProblemCode(422, "unknown_kind", "No job has this kind.")
  static let notSampled = ProblemCode(503, "not_sampled", "The queues have not been sampled for a minute.")
}
