/// The configuration of an `HTTPClient`. The defaults suit a JSON service on the internet.
public struct HTTPClientConfiguration: Sendable {
  /// For name resolution, connecting and the TLS handshake together; restarts after a redirect.
  public var connectTimeout: Duration = .seconds(5)
  /// For everything from `send` to the last byte, including the wait for a free connection and redirects.
  public var timeout: Duration = .seconds(30)
  /// How long a transfer may stall once the request has left.
  public var stallTimeout: Duration = .seconds(10)
  /// The largest accepted body, in bytes after decompression. A larger one ends the transfer immediately.
  public var maximumBodyBytes = 4 << 20
  /// The largest accepted head, in bytes.
  public var maximumHeadBytes = 64 << 10
  /// The maximum number of redirects to follow, only to `https`. 0 returns redirects to the caller.
  public var maximumRedirects = 5
  /// The maximum number of connections per host; further requests wait. An HTTP/2 connection carries many requests.
  public var connectionsPerHost = 64
  public var userAgent = "fanmill"
  /// The path of a PEM file of certificate authorities to trust instead of the system's.
  public var certificateAuthorities: String?
  /// Whether a body that is longer than `maximumBodyBytes` is cut off there, instead of failing the request.
  public var cutsBodies = false
  /// Decides whether to connect to an address of 4 or 16 bytes; nil allows all.
  ///
  /// It is asked with the very address of the connection, after the name was resolved, so a name that changes its
  /// address in between gains nothing. A proxy would resolve names itself, so none is used.
  public var allowsAddress: (@Sendable ([UInt8]) -> Bool)?
  /// Resolves a host name to addresses in text form, for each request; nil asks the system. For tests.
  public var resolvesName: (@Sendable (String) -> [String])?

  public init() {}
}
