/// Builds addresses from untrusted parts: each stays one part, whatever it contains.
public enum DashboardLink {
  /// `path?name=value&…`, without fields that are nil or empty.
  public static func to(_ path: String, _ fields: (String, String?)...) -> String { to(path, fields) }

  /// `path?name=value&…`, without fields that are nil or empty.
  public static func to(_ path: String, _ fields: [(String, String?)]) -> String {
    let query = fields.compactMap { name, value -> String? in
      guard let value, !value.isEmpty else { return nil }
      return "\(name)=\(escape(value))"
    }
    return query.isEmpty ? path : path + "?" + query.joined(separator: "&")
  }

  /// One part of a path or a query, percent-encoded.
  public static func escape(_ text: String) -> String {
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
}
