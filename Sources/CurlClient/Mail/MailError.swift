/// The reason why a mail was not sent, or may not have been.
public struct MailError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure. Handle known kinds and add a default case: more may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String { case invalid, unavailable, refused, interrupted, cancelled }
    private let kind: Kind
    private init(_ kind: Kind) { self.kind = kind }

    /// An invalid address or server URL. Nothing was sent.
    public static let invalid = Code(.invalid)
    /// The server is unreachable, or its identity could not be verified. Nothing was sent.
    public static let unavailable = Code(.unavailable)
    /// The server refused the mail.
    public static let refused = Code(.refused)
    /// The exchange was interrupted: the mail may or may not have been accepted.
    public static let interrupted = Code(.interrupted)
    /// The waiting task was cancelled; the mail may or may not have been accepted.
    public static let cancelled = Code(.cancelled)

    public var description: String { kind.rawValue }
  }

  public let code: Code
  /// The cause and the server's name. Never a password, an address or a mail's text.
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
