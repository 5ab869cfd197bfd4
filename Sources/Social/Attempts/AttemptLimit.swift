import Cryptography

/// How often something may be tried within a quarter of an hour, and what the refusal says.
public struct AttemptLimit: Sendable, Hashable {
  /// Keeps counts of different things apart.
  private let purpose: String
  public let limit: Int
  /// What is refused, for people.
  let what: String

  /// In minutes.
  public static let window = 15

  /// Passwords that a network address tries for an email address. A right one forgets all.
  static let signIn = AttemptLimit(
    purpose: "sign-in by and to ", limit: 20, what: "too many passwords were tried for this email address")
  /// Wrong passwords for an email address from everywhere, as far as each client's own limits let them through.
  static let signInFromEverywhere = AttemptLimit(
    purpose: "sign-in to ", limit: 100, what: "too many passwords were tried for this email address")
  /// The same from a network that the account was signed in to from, once those from everywhere are too many.
  static let signInFromNetwork = AttemptLimit(
    purpose: "sign-in from network to ", limit: 50, what: "too many passwords were tried for this email address")
  /// Wrong passwords from a network address, whosever. A right one takes back what it counted.
  static let signInByClient = AttemptLimit(
    purpose: "sign-in by ", limit: 100, what: "too many passwords were tried from your network address")
  /// Wrong passwords from a network address for an account that is signed in to. A right one forgets all.
  static let passwordOfAccount = AttemptLimit(
    purpose: "password by and of ", limit: 20, what: "too many passwords were tried for this account")
  /// Accounts that are asked for from a network address: each costs a hash.
  static let signUpByClient = AttemptLimit(
    purpose: "sign-up by ", limit: 100, what: "too many accounts were asked for from your network address")
  /// Tokens for new passwords from a network address that are nobody's.
  static let resetTokenByClient = AttemptLimit(
    purpose: "reset token by ", limit: 30, what: "too many wrong tokens came from your network address")
  /// Mails that are asked for an email address: each is one in somebody's mailbox.
  static let resetOfAddress = AttemptLimit(
    purpose: "reset of ", limit: 3, what: "too many mails were asked for with this email address")
  /// Mails that are asked for from a network address, which many may share behind a proxy.
  static let resetByClient = AttemptLimit(
    purpose: "reset by ", limit: 100, what: "too many mails were asked for from your network address")
  /// Wrong admin tokens from a network address, at whatever door: the dashboard's form or the operators' routes.
  public static let adminToken = AttemptLimit(
    purpose: "admin token by ", limit: 10, what: "too many wrong admin tokens were tried from your network address")
  /// Codes of meetings that an account tries. A right one takes back what it counted.
  static let meetingCode = AttemptLimit(
    purpose: "meeting code by ", limit: 10, what: "too many wrong codes were tried by this account")
  /// Meetings that an account begins.
  static let meetings = AttemptLimit(
    purpose: "meetings of ", limit: 20, what: "too many meetings were begun by this account")

  /// A try that counts for `subject`, such as a client's address.
  func by(_ subject: String) -> Attempt { Attempt(limit: self, subject: subject) }

  /// A try from a network address, or a network, that counts for an email address.
  func from(_ origin: String, to email: String) -> Attempt {
    // No origin has a space in it.
    Attempt(limit: self, subject: "\(origin) \(email)")
  }

  fileprivate func hash(_ subject: String) -> [UInt8] {
    SHA256.hash(of: (purpose + subject).utf8)
  }
}

/// One try: what it counts for, and how many are allowed.
struct Attempt: Sendable {
  let limit: AttemptLimit
  /// Of the purpose and the subject: the table shows nobody's address.
  let hash: [UInt8]

  init(limit: AttemptLimit, subject: String) {
    self.limit = limit
    hash = limit.hash(subject)
  }
}
