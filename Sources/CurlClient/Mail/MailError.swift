/// Why a mail was not sent, or may not have been.
public struct MailError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure. Switch over the ones you treat apart and give the rest a default: more may come.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String { case invalid, unavailable, refused, interrupted, cancelled }
    private let kind: Kind
    private init(_ kind: Kind) { self.kind = kind }

    /// An address or a server's URL that cannot be one. Nothing was sent.
    public static let invalid = Code(.invalid)
    /// The server is not reachable, or not who it should be. Nothing was sent.
    public static let unavailable = Code(.unavailable)
    /// The server did not take the mail.
    public static let refused = Code(.refused)
    /// The exchange broke off: the mail may or may not have been taken.
    public static let interrupted = Code(.interrupted)
    /// The task that waited was cancelled; the mail may or may not have been taken.
    public static let cancelled = Code(.cancelled)

    public var description: String { kind.rawValue }
  }

  public let code: Code
  /// What was wrong and where: the server's name. Never a password, an address or what a mail says.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  init(_ error: HTTPClientError) {
    let code: Code =
      switch error.code {
      case .connection, .nameNotResolved, .tls, .closed, .unsupported: .unavailable
      case .invalidRequest: .refused
      case .cancelled: .cancelled
      default: .interrupted
      }
    self.init(code, error.message)
  }

  public var description: String { "mail \(code): \(message)" }
}
