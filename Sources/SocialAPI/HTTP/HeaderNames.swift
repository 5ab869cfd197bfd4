import HTTPTypes

extension HTTPField.Name {
  static let deprecation = token("Deprecation")
  static let fanmillSession = token("Fanmill-Session")
  static let forwardedFor = token("X-Forwarded-For")
  static let idempotencyKey = token("Idempotency-Key")
  static let lastEventID = token("Last-Event-ID")
  static let link = token("Link")
  static let rateLimit = token("RateLimit")
  static let rateLimitPolicy = token("RateLimit-Policy")
  static let secFetchSite = token("Sec-Fetch-Site")
  /// The header of W3C Trace Context.
  static let traceparent = token("traceparent")
  static let uploadToken = token("Upload-Token")
  /// Asks a proxy in front to pass each event on immediately.
  static let xAccelBuffering = token("X-Accel-Buffering")

  private static func token(_ text: String) -> Self {
    guard let name = Self(text) else { preconditionFailure("a token by RFC 9110") }
    return name
  }
}
