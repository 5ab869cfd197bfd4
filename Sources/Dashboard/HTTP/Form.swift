import Hummingbird
import Reactor

/// Fields and their values as a form or an address sends them (`application/x-www-form-urlencoded`): a name may come
/// more than once.
struct Form: Sendable {
  private let fields: [(name: String, value: String)]

  init(_ text: some StringProtocol) {
    fields = Array(text.utf8).split(separator: UInt8(ascii: "&")).map { pair in
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      return (Self.decode(Array(parts[0])), parts.count > 1 ? Self.decode(Array(parts[1])) : "")
    }
  }

  init(_ fields: [(name: String, value: String)]) { self.fields = fields }

  /// A request's body.
  ///
  /// - Throws: an error of status 413 for more than the context's limit.
  init(bodyOf request: Request, _ context: AdminContext) async throws {
    // A slow browser's time is not the servers'.
    let begun = ContinuousClock.now
    defer { Deadline.current?.extend(by: .now - begun) }
    let buffer = try await request.body.collect(upTo: context.maxUploadSize)
    self.init(String(decoding: buffer.readableBytesView, as: UTF8.self))
  }

  /// A field's first value; nil if it is missing or empty.
  subscript(name: String) -> String? {
    fields.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
  }

  /// All values of a field.
  func all(_ name: String) -> [String] { fields.filter { $0.name == name && !$0.value.isEmpty }.map(\.value) }

  /// A field without which nothing can be done.
  ///
  /// - Throws: `Refusal` of status 422.
  func require(_ name: String) throws(Refusal) -> String {
    guard let value = self[name] else {
      throw Refusal(.unprocessableContent, "Something is missing", "The form has to say: \(name).")
    }
    return value
  }

  /// All but the fields of these names, in their order.
  func without(_ names: Set<String>) -> [(name: String, value: String)] { fields.filter { !names.contains($0.name) } }

  /// Zero bytes are left out: no text in a database holds one.
  private static func decode(_ bytes: [UInt8]) -> String {
    var decoded: [UInt8] = []
    var index = 0
    while index < bytes.count {
      var byte = bytes[index]
      if byte == UInt8(ascii: "+") {
        byte = UInt8(ascii: " ")
      } else if byte == UInt8(ascii: "%"), index + 2 < bytes.count, let high = digit(bytes[index + 1]),
        let low = digit(bytes[index + 2])
      {
        byte = high << 4 | low
        index += 2
      }
      if byte != 0 { decoded.append(byte) }
      index += 1
    }
    return String(decoding: decoded, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// An address within the dashboard, put together of parts that anybody may have typed.
enum Link {
  /// `path?name=value&…` without the values that are nil or empty.
  static func to(_ path: String, _ fields: (String, String?)...) -> String { to(path, fields) }

  static func to(_ path: String, _ fields: [(String, String?)]) -> String {
    let query = fields.compactMap { name, value -> String? in
      guard let value, !value.isEmpty else { return nil }
      return "\(name)=\(escape(value))"
    }
    return query.isEmpty ? path : path + "?" + query.joined(separator: "&")
  }

  /// One part of a path or a query.
  static func escape(_ text: String) -> String {
    var escaped = ""
    for byte in text.utf8 {
      let isPlain =
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) && byte < 0x80
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-._~".utf8.contains(byte)
      escaped +=
        isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16).uppercased()
    }
    return escaped
  }

  /// Whether an address that came from outside leads to a page of the dashboard, and nowhere else.
  static func isOurs(_ address: String) -> Bool {
    (address == "/admin" || address.hasPrefix("/admin/") || address.hasPrefix("/admin?"))
      && address.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") } && !address.contains("//")
  }
}
