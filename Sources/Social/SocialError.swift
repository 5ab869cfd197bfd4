/// The reason that a user's request is refused.
public struct SocialError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of refusal; more may be added. The API returns its raw value.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    public static let notFound = Code(rawValue: "not_found")
    public static let usernameTaken = Code(rawValue: "username_taken")
    /// The account has changed its username as often as allowed.
    public static let tooManyUsernames = Code(rawValue: "too_many_usernames")
    public static let emailTaken = Code(rawValue: "email_taken")
    public static let cannotFollowYourself = Code(rawValue: "cannot_follow_yourself")
    public static let cannotBlockYourself = Code(rawValue: "cannot_block_yourself")
    public static let cannotReportYourself = Code(rawValue: "cannot_report_yourself")
    /// The account has made as many reports as allowed in an hour.
    public static let tooManyReports = Code(rawValue: "too_many_reports")
    /// Only posts, comments and pictures can be taken down.
    public static let cannotTakeDown = Code(rawValue: "cannot_take_down")
    /// It belongs to another account.
    public static let notYours = Code(rawValue: "not_yours")
    /// No account has this address and password.
    public static let wrongCredentials = Code(rawValue: "wrong_credentials")
    /// The password is not the account's.
    public static let wrongPassword = Code(rawValue: "wrong_password")
    /// The account has neither a password nor an email address.
    public static let noPassword = Code(rawValue: "no_password")
    /// The account has no email address.
    public static let noEmail = Code(rawValue: "no_email")
    /// Too many attempts were made, such as passwords for an address.
    public static let tooManyAttempts = Code(rawValue: "too_many_attempts")
    /// No mail server is configured.
    public static let mailNotConfigured = Code(rawValue: "mail_not_configured")
    /// The password reset token has expired or was used, or another one of its account was.
    public static let resetExpired = Code(rawValue: "reset_expired")
    /// The email confirmation token has expired or was used, or another address was requested since.
    public static let confirmationExpired = Code(rawValue: "confirmation_expired")
    /// Operators have suspended the account.
    public static let accountSuspended = Code(rawValue: "account_suspended")
    /// The account's first address is not confirmed yet.
    public static let emailNotConfirmed = Code(rawValue: "email_not_confirmed")
    /// The token belongs to no session, or the session has expired.
    public static let notSignedIn = Code(rawValue: "not_signed_in")
    /// More passwords are waiting to be checked than can be handled in time.
    public static let busy = Code(rawValue: "busy")
    /// The Idempotency-Key was used for another request.
    public static let idempotencyKeyReused = Code(rawValue: "idempotency_key_reused")
    /// The platform does not exist.
    public static let unknownPlatform = Code(rawValue: "unknown_platform")
    /// The account has registered as many celebs as allowed.
    public static let celebLimit = Code(rawValue: "celeb_limit")
    /// The account has already registered the celeb.
    public static let celebRegistered = Code(rawValue: "celeb_registered")
    public static let celebNotRegistered = Code(rawValue: "celeb_not_registered")
    /// The last heart for this celeb was given less than ten minutes ago.
    public static let heartTooSoon = Code(rawValue: "heart_too_soon")
    public static let cannotMessageYourself = Code(rawValue: "cannot_message_yourself")
    /// The account has sent as many messages as allowed in a minute.
    public static let tooManyMessages = Code(rawValue: "too_many_messages")
    /// The account has as many open event streams as allowed.
    public static let tooManyStreams = Code(rawValue: "too_many_streams")
    /// No key for signing certificates is configured.
    public static let certificatesOff = Code(rawValue: "certificates_off")
    /// A picture must be given by its id, not by an address.
    public static let useMedia = Code(rawValue: "use_media")
    /// The picture could not be processed.
    public static let brokenMedia = Code(rawValue: "broken_media")
    /// The picture existed, but is no longer available.
    public static let mediaGone = Code(rawValue: "media_gone")
    public static let mediaInUse = Code(rawValue: "media_in_use")
    /// The account's pictures use its whole quota.
    public static let mediaQuota = Code(rawValue: "media_quota")
    /// The upload token has expired or was used.
    public static let uploadExpired = Code(rawValue: "upload_expired")
    /// The operator has set no key for verifying purchase notices.
    public static let purchasesOff = Code(rawValue: "purchases_off")
    public static let malformedNotice = Code(rawValue: "malformed_notice")
    /// The signature is not from an accepted store.
    public static let forgedNotice = Code(rawValue: "forged_notice")
    /// The receipt belongs to another account.
    public static let receiptTaken = Code(rawValue: "receipt_taken")
    public static let malformedCertificate = Code(rawValue: "malformed_certificate")
    /// The fan has removed the celeb since.
    public static let certificateRevoked = Code(rawValue: "certificate_revoked")
    /// The signature does not match the certificate.
    public static let forgedCertificate = Code(rawValue: "forged_certificate")
    /// The operator has turned agreements off, or has set no key for them.
    public static let agreementsOff = Code(rawValue: "agreements_off")
    /// The account has not stated that its owner is an adult.
    public static let adultStatementNeeded = Code(rawValue: "adult_statement_needed")
    public static let cannotMeetYourself = Code(rawValue: "cannot_meet_yourself")
    /// No meeting of the host has this code.
    public static let wrongCode = Code(rawValue: "wrong_code")
    /// The meeting is not joined yet, or is over.
    public static let meetingEnded = Code(rawValue: "meeting_ended")
    /// A device has not opened its commitment yet.
    public static let meetingNotOpened = Code(rawValue: "meeting_not_opened")
    /// Another message has this number.
    public static let messageDiffers = Code(rawValue: "message_differs")
    /// The signature does not match the record.
    public static let forgedSeal = Code(rawValue: "forged_seal")
    /// The two devices have sealed different records.
    public static let sealsDiffer = Code(rawValue: "seals_differ")
    /// The account has as many agreements as allowed.
    public static let tooManyAgreements = Code(rawValue: "too_many_agreements")
    public static let wrongPasscode = Code(rawValue: "wrong_passcode")
    /// Ten wrong passcodes were entered.
    public static let backupDestroyed = Code(rawValue: "backup_destroyed")

    /// A field has an invalid value: `invalid_username`, `invalid_title` …
    public static func invalid(_ field: String) -> Code { Code(rawValue: "invalid_" + field) }
  }

  public let code: Code
  /// What is wrong and what would be valid, for the user.
  public let message: String
  /// The invalid field, if any.
  public let field: String?
  /// Seconds until a retry makes sense.
  public let retryAfter: Int?

  public init(_ code: Code, _ message: String, field: String? = nil, retryAfter: Int? = nil) {
    self.code = code
    self.message = message
    self.field = field
    self.retryAfter = retryAfter
  }

  public var description: String { "\(code): \(message)" }

  static func notFound(_ what: String) -> SocialError { SocialError(.notFound, "there is no such \(what)") }

  static func invalid(_ field: String, _ rule: String) -> SocialError {
    SocialError(.invalid(field), "\(field) \(rule)", field: field)
  }
}
