import Foundation

/// Finds the password in a server's URL.
enum URLPassword {
  /// The password as the URL writes it and as it is meant; none if the URL has none.
  ///
  /// Also finds it in URLs that are not valid, such as those with a `#` or a space in the password: what stands between
  /// the first colon after the scheme and the last `@`.
  static func spellings(in url: String) -> [String] {
    guard let scheme = url.range(of: "://"), let at = url.range(of: "@", options: .backwards),
      scheme.upperBound <= at.lowerBound,
      let colon = url.range(of: ":", range: scheme.upperBound..<at.lowerBound)
    else { return [] }
    let raw = String(url[colon.upperBound..<at.lowerBound])
    guard let decoded = raw.removingPercentEncoding, decoded != raw else { return [raw] }
    return [raw, decoded]
  }
}
