import Cryptography
import HTTPTypes
import Hummingbird

/// `ETag` and `If-None-Match` (RFC 9110, sections 8.8.3 and 13.1.2): a client that holds the current version gets a 304
/// without a body.
struct EntityTag: Sendable, Hashable {
  /// With its quotes, as the headers write it.
  let text: String

  init(_ name: String) { text = "\"\(name)\"" }

  /// The tag of a content: a hash of its bytes, so that every process gives the same content the same tag.
  init(of bytes: [UInt8]) { self.init(SHA256.hash(of: bytes).prefix(12).hexadecimal) }

  /// Whether the client holds this version. `If-None-Match` is `*` or a list of tags, of which weak ones count too.
  func isHeld(by request: Request) -> Bool {
    guard let held = request.headers[.ifNoneMatch] else { return false }
    return held == "*"
      || held.split(separator: ",").contains { tag in
        let tag = tag.filter { $0 != " " }
        return tag == text || tag == "W/" + text
      }
  }
}
