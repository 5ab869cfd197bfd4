/// Why a request got no response.
///
/// An HTTP status is no error here, whatever it says.
public struct HTTPClientError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure. Switch over the ones you treat apart and give the rest a default: more may come.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String {
      case invalidRequest, connection, nameNotResolved, tls, timeout, stalled, bodyTooLarge, redirect, cancelled, closed
      case transfer, unsupported, file, diskFull
    }
    private let kind: Kind
    private init(_ kind: Kind) { self.kind = kind }

    /// The request cannot be sent as it is: its URL, method or header fields. Nothing was sent.
    public static let invalidRequest = Code(.invalidRequest)
    /// The server is not reachable, in time or at all. Nothing was sent.
    public static let connection = Code(.connection)
    /// The host's name has no address. Nothing was sent.
    public static let nameNotResolved = Code(.nameNotResolved)
    /// The server is not who it should be, or no encryption could be agreed on. Nothing was sent.
    public static let tls = Code(.tls)
    /// No complete response in time. The server may or may not have acted on the request; so with all that follow.
    public static let timeout = Code(.timeout)
    /// Nothing moved for too long.
    public static let stalled = Code(.stalled)
    /// The body is larger than the limit.
    public static let bodyTooLarge = Code(.bodyTooLarge)
    /// A redirect that is not followed: not to `https`, or one too many.
    public static let redirect = Code(.redirect)
    /// The task that waited was cancelled.
    public static let cancelled = Code(.cancelled)
    /// The client was closed by its owner.
    public static let closed = Code(.closed)
    /// The response broke off, or is no HTTP.
    public static let transfer = Code(.transfer)
    /// The libcurl of this machine lacks something that is needed.
    public static let unsupported = Code(.unsupported)
    /// The local file of an upload or a download cannot be read or written.
    public static let file = Code(.file)
    /// The disk of a download's file is full.
    public static let diskFull = Code(.diskFull)

    public var description: String { kind.rawValue }
  }

  public let code: Code
  /// What was wrong and where: method, host and path. Never a query, a header field or a body, since keys travel there.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { "HTTP \(code): \(message)" }
}
