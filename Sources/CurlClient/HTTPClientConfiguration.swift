/// How an `HTTPClient` behaves. The defaults suit a JSON service somewhere on the internet.
public struct HTTPClientConfiguration: Sendable {
  /// For finding the address, connecting and the TLS handshake together; counted anew after a redirect.
  public var connectTimeout: Duration = .seconds(5)
  /// For everything from `send` to the last byte, the wait for a free connection and redirects included.
  public var timeout: Duration = .seconds(30)
  /// How long nothing at all may move once the request is on its way.
  public var stallTimeout: Duration = .seconds(10)
  /// The largest body that is taken, in bytes after decompression. A larger one ends the transfer at once.
  public var maximumBodyBytes = 4 << 20
  /// The largest head that is taken, in bytes.
  public var maximumHeadBytes = 64 << 10
  /// How many redirects are followed, only ever to `https`. 0 hands a redirect to the caller as it is.
  public var maximumRedirects = 5
  /// How many connections to one host are open at most; further requests wait. With HTTP/2 one connection carries many.
  public var connectionsPerHost = 64
  public var userAgent = "fanmill"
  /// The path of a PEM file whose certificate authorities are trusted instead of the system's.
  public var certificateAuthorities: String?

  public init() {}
}
