import Foundation

/// Builds and shows the addresses of requests.
enum RequestTarget {
  /// Encodes all but the unreserved characters of RFC 3986: servers read others, such as `+`, in different ways.
  static func encoded(_ text: String) -> String {
    text.utf8.reduce(into: "") { result, byte in
      let character = Character(UnicodeScalar(byte))
      if byte < 0x80, character.isLetter || character.isNumber || "-._~".contains(character) {
        result.append(character)
      } else {
        result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
  }

  /// - Throws: `malformed_request` if the server's address cannot be the beginning of one.
  static func url(_ base: URL, _ path: [String], _ query: [(name: String, value: String)]) throws -> URL {
    var text = root(base) + path.map { "/" + encoded($0) }.joined()
    if !query.isEmpty { text += "?" + query.map { encoded($0.name) + "=" + encoded($0.value) }.joined(separator: "&") }
    guard let url = URL(string: text) else {
      throw FanmillError(.malformedRequest, "the server's address is not a URL for requests")
    }
    return url
  }

  /// The URL of an address in a response. The server writes the paths of its routes and pictures from its own root,
  /// which a proxy may serve under another path.
  ///
  /// - Parameter origin: the URL of the request.
  static func resolved(_ address: String, on base: URL, from origin: URL) -> URL? {
    guard ["/v1/", "/media/"].contains(where: { address.hasPrefix($0) }) else {
      return URL(string: address, relativeTo: origin)?.absoluteURL
    }
    return URL(string: root(base) + address)
  }

  private static func root(_ base: URL) -> String {
    var text = base.absoluteString
    while text.hasSuffix("/") { text.removeLast() }
    return text
  }

  /// An address for descriptions: without query, password, and the token that some paths contain.
  static func shown(_ url: URL) -> String {
    var path = url.path
    for secret in [
      "/v1/password-resets/", "/v1/email-confirmations/", "/v1/account-deletions/", "/v1/account-exports/",
    ] {
      if let range = path.range(of: secret) { path = path[..<range.upperBound] + "…" }
    }
    let port = url.port.map { ":\($0)" } ?? ""
    return "\(url.scheme ?? "")://\(url.host ?? "")\(port)\(path)"
  }
}
