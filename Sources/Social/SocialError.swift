/// Why something that a user asked for is refused.
public struct SocialError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of refusal, open for more. The API answers with its raw value.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    public static let notFound = Code(rawValue: "not_found")
    public static let usernameTaken = Code(rawValue: "username_taken")
    /// The account was called otherwise as often as it may be.
    public static let tooManyUsernames = Code(rawValue: "too_many_usernames")
    public static let emailTaken = Code(rawValue: "email_taken")
    public static let cannotFollowYourself = Code(rawValue: "cannot_follow_yourself")
    public static let cannotBlockYourself = Code(rawValue: "cannot_block_yourself")
    public static let cannotReportYourself = Code(rawValue: "cannot_report_yourself")
    /// The account has made as many reports as it may in an hour.
    public static let tooManyReports = Code(rawValue: "too_many_reports")
    /// It is neither a post nor a comment nor a picture.
    public static let cannotTakeDown = Code(rawValue: "cannot_take_down")
    /// It belongs to somebody else.
    public static let notYours = Code(rawValue: "not_yours")
    /// No account has this address and this password.
    public static let wrongCredentials = Code(rawValue: "wrong_credentials")
    /// The account's password is another.
    public static let wrongPassword = Code(rawValue: "wrong_password")
    /// The account has no password, and no address to write to.
    public static let noPassword = Code(rawValue: "no_password")
    /// Too many passwords were tried for an address.
    public static let tooManyAttempts = Code(rawValue: "too_many_attempts")
    /// No server is set that mail could be handed to.
    public static let mailNotConfigured = Code(rawValue: "mail_not_configured")
    /// The token for a new password is too old, or was used, or another of its account was.
    public static let resetExpired = Code(rawValue: "reset_expired")
    /// The token for an email address is too old, or was used, or another address was asked for since.
    public static let confirmationExpired = Code(rawValue: "confirmation_expired")
    /// Operators have closed the account to its owner.
    public static let accountSuspended = Code(rawValue: "account_suspended")
    /// The account's first address is not confirmed yet.
    public static let emailNotConfirmed = Code(rawValue: "email_not_confirmed")
    /// There is no session of this token, or it has expired.
    public static let notSignedIn = Code(rawValue: "not_signed_in")
    /// More passwords wait to be checked than can be in good time.
    public static let busy = Code(rawValue: "busy")
    /// The Idempotency-Key was used for another request.
    public static let idempotencyKeyReused = Code(rawValue: "idempotency_key_reused")
    /// The celebs' platform is none.
    public static let unknownPlatform = Code(rawValue: "unknown_platform")
    /// The account has registered as many celebs as it may.
    public static let celebLimit = Code(rawValue: "celeb_limit")
    /// The celeb is among the account's own already.
    public static let celebRegistered = Code(rawValue: "celeb_registered")
    public static let celebNotRegistered = Code(rawValue: "celeb_not_registered")
    /// The last heart for this celeb was given less than ten minutes ago.
    public static let heartTooSoon = Code(rawValue: "heart_too_soon")
    public static let cannotMessageYourself = Code(rawValue: "cannot_message_yourself")
    /// The account has sent as many messages as it may in a minute.
    public static let tooManyMessages = Code(rawValue: "too_many_messages")
    /// The account listens already from as many places as it may.
    public static let tooManyStreams = Code(rawValue: "too_many_streams")
    /// No key is set to sign certificates with.
    public static let certificatesOff = Code(rawValue: "certificates_off")
    /// A picture is given by its id, not by an address.
    public static let useMedia = Code(rawValue: "use_media")
    /// The picture could not be made.
    public static let brokenMedia = Code(rawValue: "broken_media")
    /// There was a picture, and nothing of it is left.
    public static let mediaGone = Code(rawValue: "media_gone")
    public static let mediaInUse = Code(rawValue: "media_in_use")
    /// The account's pictures take up all that they may.
    public static let mediaQuota = Code(rawValue: "media_quota")
    /// The upload token is too old, or was used.
    public static let uploadExpired = Code(rawValue: "upload_expired")
    /// The operator has set no key that notices of purchases are checked with.
    public static let purchasesOff = Code(rawValue: "purchases_off")
    public static let malformedNotice = Code(rawValue: "malformed_notice")
    /// The signature is not that of a store that is believed.
    public static let forgedNotice = Code(rawValue: "forged_notice")
    /// The receipt is another account's.
    public static let receiptTaken = Code(rawValue: "receipt_taken")
    public static let malformedCertificate = Code(rawValue: "malformed_certificate")
    /// The fan has removed the celeb since.
    public static let certificateRevoked = Code(rawValue: "certificate_revoked")
    /// The signature is not that of what the certificate says.
    public static let forgedCertificate = Code(rawValue: "forged_certificate")
    /// The operator has switched agreements off, or has set no key for them.
    public static let agreementsOff = Code(rawValue: "agreements_off")
    /// The account has not stated that its owner is an adult.
    public static let adultStatementNeeded = Code(rawValue: "adult_statement_needed")
    public static let cannotMeetYourself = Code(rawValue: "cannot_meet_yourself")
    /// No meeting of the host has this code.
    public static let wrongCode = Code(rawValue: "wrong_code")
    /// The meeting is not one of two devices, or not any more.
    public static let meetingEnded = Code(rawValue: "meeting_ended")
    /// A device has not opened its commitment yet.
    public static let meetingNotOpened = Code(rawValue: "meeting_not_opened")
    /// Another message had this number.
    public static let messageDiffers = Code(rawValue: "message_differs")
    /// The signature is not that of the record.
    public static let forgedSeal = Code(rawValue: "forged_seal")
    /// The two devices have sealed different records.
    public static let sealsDiffer = Code(rawValue: "seals_differ")
    /// The account keeps as many agreements as it may.
    public static let tooManyAgreements = Code(rawValue: "too_many_agreements")
    public static let wrongPasscode = Code(rawValue: "wrong_passcode")
    /// Ten wrong passcodes were tried.
    public static let backupDestroyed = Code(rawValue: "backup_destroyed")

    /// A field has a value that it cannot have: `invalid_username`, `invalid_title` …
    public static func invalid(_ field: String) -> Code { Code(rawValue: "invalid_" + field) }
  }

  public let code: Code
  /// What is wrong and what would be right, for the user.
  public let message: String
  /// The field that is wrong, if one is.
  public let field: String?
  /// Seconds after which trying again makes sense.
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
