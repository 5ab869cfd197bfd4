import Foundation

/// Finds the passwords in a server's URL.
enum URLPassword {
  /// The passwords as they are written and as they are meant; none if there is none.
  ///
  /// They stand before the `@` of a URL, or behind `password=` in its query and in libpq's own form
  /// (`host=… password=…`). A URL that is not valid, such as one with a `#` in the password, is searched as well.
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
