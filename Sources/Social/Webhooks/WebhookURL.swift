import Foundation
import Glibc

/// The address of a receiver, validated on creation.
public struct WebhookURL: Sendable, Hashable {
  /// As given, without spaces around it.
  public let text: String
  let scheme: String
  /// Host and port.
  let authority: String
  /// With the query.
  let path: String

  public static let longest = 2000

  /// - Parameter allowsPrivate: whether `http` and private addresses are accepted too. A name's addresses are checked
  ///   with each connection.
  /// - Throws: `invalid_url`.
  public init(_ given: String, allowsPrivate: Bool) throws(SocialError) {
    let text = given.trimmingCharacters(in: .whitespaces)
    guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw .invalid("url", "must have at most \(Self.longest) characters, all of them printable ASCII")
    }
    guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
      scheme == "https" || scheme == "http", let host = parts.host, !host.isEmpty
    else {
      throw .invalid("url", "must be the address of a server, such as https://hooks.example.org/fanmill")
    }
    guard scheme == "https" || allowsPrivate else {
      throw .invalid("url", "must begin with https://; http:// needs FANMILL_WEBHOOKS_PRIVATE=on")
    }
    guard parts.user == nil, parts.password == nil, parts.fragment == nil else {
      throw .invalid("url", "must contain neither a user nor a fragment: put a key for the receiver into the query")
    }
    if let port = parts.port, !(1...65535).contains(port) {
      throw .invalid("url", "has the port \(port), which does not exist: use 1 to 65535")
    }
    if !allowsPrivate, let address = Self.address(host), !WebhookAddresses.isPublic(address) {
      throw .invalid(
        "url", "leads to \(host), a private or reserved address: FANMILL_WEBHOOKS_PRIVATE=on allows these")
    }
    self.text = text
    self.scheme = scheme
    let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    authority = parts.port.map { "\(name):\($0)" } ?? name
    let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
    path = (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath) + query
  }

  /// The bytes of a host that is an IP address; nil for a name.
  private static func address(_ host: String) -> [UInt8]? {
    let plain = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    var four = in_addr()
    if inet_pton(AF_INET, plain, &four) == 1 { return withUnsafeBytes(of: four) { Array($0) } }
    var sixteen = in6_addr()
    if inet_pton(AF_INET6, plain, &sixteen) == 1 { return withUnsafeBytes(of: sixteen) { Array($0) } }
    return nil
  }
}
