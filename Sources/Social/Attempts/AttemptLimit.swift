import Cryptography

/// How many attempts are allowed within 15 minutes, and the message of a refusal.
public struct AttemptLimit: Sendable, Hashable {
  /// Separates the counts of different limits.
  private let purpose: String
  public let limit: Int
  /// The reason for the refusal, in words for users.
  let what: String

  /// In minutes.
  public static let window = 15

  /// Passwords tried from a network address for an email address. A right one resets the count.
  static let signIn = AttemptLimit(
    purpose: "sign-in by and to ", limit: 20, what: "too many passwords were tried for this email address")
  /// Wrong passwords for an email address from anywhere, as far as each client's own limits allow them.
  static let signInFromEverywhere = AttemptLimit(
    purpose: "sign-in to ", limit: 100, what: "too many passwords were tried for this email address")
  /// Wrong passwords from a network that the account has signed in from, once the limit from everywhere is exceeded.
  static let signInFromNetwork = AttemptLimit(
    purpose: "sign-in from network to ", limit: 50, what: "too many passwords were tried for this email address")
  /// Wrong passwords from a network address, for any account. A right one takes back its own count.
  static let signInByClient = AttemptLimit(
    purpose: "sign-in by ", limit: 100, what: "too many passwords were tried from your network address")
  /// Wrong passwords from a network address for an account that is signed in. A right one resets the count.
  static let passwordOfAccount = AttemptLimit(
    purpose: "password by and of ", limit: 20, what: "too many passwords were tried for this account")
  /// Sign-ups requested from a network address; each costs a hash.
  static let signUpByClient = AttemptLimit(
    purpose: "sign-up by ", limit: 100, what: "too many sign-ups from your network address")
  /// Unknown password reset tokens from a network address.
  static let resetTokenByClient = AttemptLimit(
    purpose: "reset token by ", limit: 30, what: "too many wrong tokens came from your network address")
  /// Mails requested for an email address; each one reaches a mailbox.
  static let resetOfAddress = AttemptLimit(
    purpose: "reset of ", limit: 3, what: "too many mails requested for this email address")
  /// Mails requested from a network address, which many users may share behind a proxy.
  static let resetByClient = AttemptLimit(
    purpose: "reset by ", limit: 100, what: "too many mails requested from your network address")
  /// Wrong admin tokens from a network address, in the dashboard's form and the operator routes together.
  public static let adminToken = AttemptLimit(
    purpose: "admin token by ", limit: 10, what: "too many wrong admin tokens were tried from your network address")
  /// Meeting codes tried by an account. A right one takes back its own count.
  static let meetingCode = AttemptLimit(
    purpose: "meeting code by ", limit: 10, what: "too many wrong codes were tried by this account")
  /// Meetings begun by an account.
  static let meetings = AttemptLimit(
    purpose: "meetings of ", limit: 20, what: "too many meetings were started by this account")

  /// An attempt that counts for `subject`, such as a client's address.
  func by(_ subject: String) -> Attempt { Attempt(limit: self, subject: subject) }

  /// An attempt from a network address, or a network, that counts for an email address.
  func from(_ origin: String, to email: String) -> Attempt {
    // No origin contains a space, so the pair is unambiguous.
    Attempt(limit: self, subject: "\(origin) \(email)")
  }

  fileprivate func hash(_ subject: String) -> [UInt8] {
    SHA256.hash(of: (purpose + subject).utf8)
  }
}

/// One attempt: its limit and the subject it counts for.
struct Attempt: Sendable {
  let limit: AttemptLimit
  /// The hash of the purpose and the subject, so that the table reveals no addresses.
  let hash: [UInt8]

  init(limit: AttemptLimit, subject: String) {
    self.limit = limit
    hash = limit.hash(subject)
  }
}
