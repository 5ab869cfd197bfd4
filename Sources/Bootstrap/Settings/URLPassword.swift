import Foundation

/// Finds the passwords in a server's URL.
enum URLPassword {
  /// The passwords in the URL, both as written and decoded; empty if there are none.
  ///
  /// A password precedes the `@` of a URL, or follows `password=` in its query or in libpq's own form (`host=…
  /// password=…`). Invalid URLs, such as one with a `#` in the password, are searched as well.
  static func spellings(in url: String) -> [String] {
    var found: [String] = []
    if let scheme = url.range(of: "://"), let at = url.range(of: "@", options: .backwards),
      scheme.upperBound <= at.lowerBound, let colon = url.range(of: ":", range: scheme.upperBound..<at.lowerBound)
    {
      found.append(String(url[colon.upperBound..<at.lowerBound]))
    }
    if let keyword = url.range(of: "password=") {
      let value = url[keyword.upperBound...].prefix { !$0.isWhitespace && $0 != "&" }
      found.append(value.trimmingCharacters(in: CharacterSet(charactersIn: "'")))
    }
    return found.flatMap { raw in
      guard let meant = raw.removingPercentEncoding, meant != raw else { return [raw] }
      return [raw, meant]
    }
  }
}
