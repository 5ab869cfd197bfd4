import Foundation

/// The server that mail is sent to.
public struct MailServer: Sendable {
  /// Scheme, host and port for display, without user and password.
  public let name: String
  let url: String
  let user: String?
  let password: String?
  /// Whether the connection must be encrypted before anything is sent.
  var requiresTLS: Bool

  /// `smtp://[user:password@]host[:port]`, port 587, or `smtps://…`, port 465, which is encrypted from the first byte.
  ///
  /// With `smtp`, the connection is encrypted (STARTTLS) if the server offers it; with a password and a remote server,
  /// encryption is required. Reserved characters in user and password are percent-encoded.
  ///
  /// - Throws: `.invalid`; the message does not quote the URL.
  public init(url: String) throws(MailError) {
    guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
      scheme == "smtp" || scheme == "smtps"
    else { throw MailError(.invalid, "not a URL that begins with smtp:// or smtps://") }
    guard let host = parts.encodedHost, !host.isEmpty, parts.path.isEmpty || parts.path == "/", parts.query == nil,
      parts.fragment == nil, (1...65535).contains(parts.port ?? 1)
    else { throw MailError(.invalid, "only [user:password@]host[:port] may follow \(scheme)://") }
    let (user, password) = (parts.user, parts.password)
    guard (user ?? "").isEmpty == (password ?? "").isEmpty,
      [user, password].allSatisfy({ $0?.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F } ?? true })
    else { throw MailError(.invalid, "give both a user and a password, without control characters") }
    name = "\(scheme)://\(host):\(parts.port ?? (scheme == "smtps" ? 465 : 587))"
    self.url = name
    (self.user, self.password) = user?.isEmpty == false ? (user, password) : (nil, nil)
    let isHere = host == "localhost" || host == "[::1]" || host.hasPrefix("127.")
    requiresTLS = scheme == "smtps" || (self.password != nil && !isHere)
  }
}
