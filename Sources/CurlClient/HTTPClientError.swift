/// The reason why a request got no response.
///
/// An HTTP status is not an error here.
public struct HTTPClientError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure. Handle known kinds and add a default case: more may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String {
      case invalidRequest, connection, nameNotResolved, tls, timeout, stalled, bodyTooLarge, redirect, cancelled, closed
      case transfer, unsupported, file, diskFull, forbiddenAddress
    }
    private let kind: Kind
    private init(_ kind: Kind) { self.kind = kind }

    /// The request is invalid: its URL, method or header fields. Nothing was sent.
    public static let invalidRequest = Code(.invalidRequest)
    /// The server is unreachable, or was not reached in time. Nothing was sent.
    public static let connection = Code(.connection)
    /// The host name has no address. Nothing was sent.
    public static let nameNotResolved = Code(.nameNotResolved)
    /// The host's addresses are ones that the client may not connect to. Nothing was sent.
    public static let forbiddenAddress = Code(.forbiddenAddress)
    /// The server's identity could not be verified, or no encryption could be agreed on. Nothing was sent.
    public static let tls = Code(.tls)
    /// No complete response in time. For this error and all that follow, the server may or may not have acted on the
    /// request.
    public static let timeout = Code(.timeout)
    /// No data moved for too long.
    public static let stalled = Code(.stalled)
    /// The body is larger than the limit.
    public static let bodyTooLarge = Code(.bodyTooLarge)
    /// A redirect that is not followed: not to `https`, or over the limit.
    public static let redirect = Code(.redirect)
    /// The waiting task was cancelled.
    public static let cancelled = Code(.cancelled)
    /// The owner closed the client.
    public static let closed = Code(.closed)
    /// The response was cut off, or is not HTTP.
    public static let transfer = Code(.transfer)
    /// The installed libcurl lacks a required feature.
    public static let unsupported = Code(.unsupported)
    /// The local file of an upload or a download cannot be read or written.
    public static let file = Code(.file)
    /// The disk of a download's file is full.
    public static let diskFull = Code(.diskFull)

    public var description: String { kind.rawValue }
  }

  public let code: Code
  /// The cause and the place: method, host and path. Never a query, a header field or a body, because they may contain
  /// keys.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { "HTTP \(code): \(message)" }
}
