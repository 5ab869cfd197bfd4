import Foundation

/// Which addresses users may give for pictures. The browser of everybody who sees an account or a post loads them
/// unasked.
public struct WebAddressRule: Sendable, Hashable {
  private let allowsLoopback: Bool

  /// Encrypted addresses only.
  public static let https = WebAddressRule(allowsLoopback: false)
  /// Plain HTTP to the machine itself too, where an app is developed. In production such an address would make the
  /// browsers of others call whatever listens on their own machines.
  public static let development = WebAddressRule(allowsLoopback: true)

  static let longest = 2048

  /// - Throws: `invalid_…` for the field.
  func check(_ text: String?, _ field: String) throws(SocialError) {
    guard let text else { return }
    try FieldRules.text(text, field, 1...Self.longest)
    guard allows(text) else {
      throw .invalid(
        field,
        allowsLoopback
          ? "is an address that begins with https://, or with http:// on this machine, in ASCII, the rest encoded"
          : "is an address that begins with https://, in ASCII, the rest encoded")
    }
  }

  private func allows(_ text: String) -> Bool {
    // What parsers read differently (spaces, backslashes, controls) is in no address. A name and a password before the
    // host only make it pass for another.
    let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !#""<>\^`{|}"#.utf8.contains($0) }
    guard isPlain, let parts = URLComponents(string: text), parts.user == nil, parts.password == nil,
      let host = parts.host?.lowercased(), !host.isEmpty
    else { return false }
    switch parts.scheme?.lowercased() {
    case "https": return text.lowercased().hasPrefix("https://")
    case "http": return allowsLoopback && text.lowercased().hasPrefix("http://") && Self.isLoopback(host)
    default: return false
    }
  }

  private static func isLoopback(_ host: String) -> Bool {
    if ["localhost", "::1", "[::1]"].contains(host) { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127"
      && parts.allSatisfy { part in
        part.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt8(part) != nil
      }
  }
}
