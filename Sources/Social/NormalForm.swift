import Foundation

/// The one form in which addresses and names are stored, compared and counted, so that no spelling gets past a limit or
/// a uniqueness that another spelling meets.
///
/// Usernames are ASCII by a constraint of their table; on them SQL's `lower()` is the same function.
public enum NormalForm {
  /// Text as it is stored and shown: composed (NFC), without white space around it.
  public static func shown(_ text: String) -> String {
    let scalars = text.precomposedStringWithCanonicalMapping.unicodeScalars
    guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
      let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
    else { return "" }
    return String(scalars[first...last])
  }

  /// Text as it is compared and counted: as it is shown, in lower case by Unicode's mapping, which depends on no
  /// locale.
  public static func compared(_ text: String) -> String {
    // The lower case of a composed letter may be one that is not: İ becomes i with a dot above.
    shown(text).lowercased().precomposedStringWithCanonicalMapping
  }
}
