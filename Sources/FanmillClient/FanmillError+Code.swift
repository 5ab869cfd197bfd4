extension FanmillError {
  /// The kind of failure. Servers add codes, so a program compares those it handles and treats the rest by status.
  public struct Code: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// A field is missing or not valid: `invalid_title`. ``FanmillError/field`` names it.
    public static func invalid(_ field: String) -> Code { Code(rawValue: "invalid_" + field) }

    /// Whether a field is missing or not valid.
    public var isInvalidField: Bool { rawValue.hasPrefix("invalid_") }

    // MARK: This client

    /// There was no response.
    public static let network = Code(rawValue: "network")
    /// The response did not come in time.
    public static let timedOut = Code(rawValue: "timed_out")
    /// The response has a shape that this client does not know.
    public static let malformedResponse = Code(rawValue: "malformed_response")
    /// What the call waited for did not happen in time: a picture, a card, a lookup.
    public static let notReady = Code(rawValue: "not_ready")

    /// A response without a problem, as from a proxy: `http_502`.
    static func http(_ status: Int) -> Code { Code(rawValue: "http_\(status)") }

    /// The file to upload cannot be read.
    public static let unreadableFile = Code(rawValue: "unreadable_file")

    // MARK: Requests

    public static let notFound = Code(rawValue: "not_found")
    /// It belongs to another account.
    public static let notYours = Code(rawValue: "not_yours")
    /// The account has another username now. The client follows such redirects itself.
    public static let moved = Code(rawValue: "moved")
    public static let malformedBody = Code(rawValue: "malformed_body")
    public static let malformedRequest = Code(rawValue: "malformed_request")
    public static let bodyTooLarge = Code(rawValue: "body_too_large")
    /// The request took too long to arrive.
    public static let requestTimeout = Code(rawValue: "request_timeout")
    /// The `Idempotency-Key` was used for another request.
    public static let idempotencyKeyReused = Code(rawValue: "idempotency_key_reused")
    /// The account or the client has spent its budget of an hour.
    public static let rateLimited = Code(rawValue: "rate_limited")
    /// A server in the background cannot answer now.
    public static let unavailable = Code(rawValue: "unavailable")
    /// The database is full; reading still works.
    public static let storageFull = Code(rawValue: "storage_full")
    /// More passwords are being checked than the server can handle in time.
    public static let busy = Code(rawValue: "busy")
    public static let tooManyConnections = Code(rawValue: "too_many_connections")
    /// The server's fault; its log has the reason under ``FanmillError/requestID``.
    public static let internalError = Code(rawValue: "internal")

    // MARK: Accounts

    public static let notSignedIn = Code(rawValue: "not_signed_in")
    /// No account has this address and password.
    public static let wrongCredentials = Code(rawValue: "wrong_credentials")
    public static let wrongPassword = Code(rawValue: "wrong_password")
    /// The account has neither a password nor an email address.
    public static let noPassword = Code(rawValue: "no_password")
    /// The account has no email address.
    public static let noEmail = Code(rawValue: "no_email")
    public static let usernameTaken = Code(rawValue: "username_taken")
    public static let emailTaken = Code(rawValue: "email_taken")
    public static let emailNotConfirmed = Code(rawValue: "email_not_confirmed")
    public static let accountSuspended = Code(rawValue: "account_suspended")
    /// The account has changed its username as often as allowed.
    public static let tooManyUsernames = Code(rawValue: "too_many_usernames")
    public static let tooManyAttempts = Code(rawValue: "too_many_attempts")
    /// The server sends no mail.
    public static let mailNotConfigured = Code(rawValue: "mail_not_configured")
    /// The password reset token has expired or was used.
    public static let resetExpired = Code(rawValue: "reset_expired")
    /// The confirmation token has expired or was used.
    public static let confirmationExpired = Code(rawValue: "confirmation_expired")

    // MARK: Relations, messages, reports

    public static let cannotFollowYourself = Code(rawValue: "cannot_follow_yourself")
    public static let cannotBlockYourself = Code(rawValue: "cannot_block_yourself")
    public static let cannotMessageYourself = Code(rawValue: "cannot_message_yourself")
    public static let cannotReportYourself = Code(rawValue: "cannot_report_yourself")
    public static let tooManyMessages = Code(rawValue: "too_many_messages")
    public static let tooManyReports = Code(rawValue: "too_many_reports")
    /// The account has as many open event streams as allowed.
    public static let tooManyStreams = Code(rawValue: "too_many_streams")

    // MARK: Pictures

    /// The field takes the id of an upload, not an address.
    public static let useMedia = Code(rawValue: "use_media")
    /// The upload has no bytes.
    public static let emptyBody = Code(rawValue: "empty_body")
    public static let unsupportedMedia = Code(rawValue: "unsupported_media")
    public static let brokenMedia = Code(rawValue: "broken_media")
    public static let mediaGone = Code(rawValue: "media_gone")
    public static let mediaInUse = Code(rawValue: "media_in_use")
    /// The account's pictures use its whole quota.
    public static let mediaQuota = Code(rawValue: "media_quota")
    /// The upload token has expired or was used.
    public static let uploadExpired = Code(rawValue: "upload_expired")

    // MARK: Celebs

    public static let unknownPlatform = Code(rawValue: "unknown_platform")
    /// The account has registered as many celebs as allowed.
    public static let celebLimit = Code(rawValue: "celeb_limit")
    public static let celebRegistered = Code(rawValue: "celeb_registered")
    public static let celebNotRegistered = Code(rawValue: "celeb_not_registered")
    /// The last heart for this celeb is less than ten minutes old.
    public static let heartTooSoon = Code(rawValue: "heart_too_soon")
    /// The platform has no search.
    public static let searchUnsupported = Code(rawValue: "search_unsupported")
    /// The server's YouTube budget of the day is spent, and nothing is stored.
    public static let quotaExhausted = Code(rawValue: "quota_exhausted")
    /// The account's share of that budget is spent.
    public static let lookupShareSpent = Code(rawValue: "lookup_share_spent")
    public static let lookupsUnavailable = Code(rawValue: "lookups_unavailable")

    // MARK: Certificates and purchases

    public static let certificatesOff = Code(rawValue: "certificates_off")
    public static let malformedCertificate = Code(rawValue: "malformed_certificate")
    public static let forgedCertificate = Code(rawValue: "forged_certificate")
    public static let certificateRevoked = Code(rawValue: "certificate_revoked")
    public static let purchasesOff = Code(rawValue: "purchases_off")
    public static let malformedNotice = Code(rawValue: "malformed_notice")
    public static let forgedNotice = Code(rawValue: "forged_notice")
    public static let receiptTaken = Code(rawValue: "receipt_taken")

    // MARK: Agreements

    public static let agreementsOff = Code(rawValue: "agreements_off")
    public static let adultStatementNeeded = Code(rawValue: "adult_statement_needed")
    public static let cannotMeetYourself = Code(rawValue: "cannot_meet_yourself")
    public static let wrongCode = Code(rawValue: "wrong_code")
    public static let meetingEnded = Code(rawValue: "meeting_ended")
    public static let meetingNotOpened = Code(rawValue: "meeting_not_opened")
    public static let messageDiffers = Code(rawValue: "message_differs")
    public static let forgedSeal = Code(rawValue: "forged_seal")
    public static let sealsDiffer = Code(rawValue: "seals_differ")
    public static let tooManyAgreements = Code(rawValue: "too_many_agreements")
    public static let wrongPasscode = Code(rawValue: "wrong_passcode")
    public static let backupDestroyed = Code(rawValue: "backup_destroyed")
  }
}
