import Foundation

/// The one form in which addresses and names are stored, compared and counted, so that no alternative spelling evades a
/// limit or a uniqueness check.
///
/// Usernames are ASCII by a constraint of their table, so SQL's `lower()` is the same function for them.
public enum NormalForm {
  /// Text in the form for storage and display: composed (NFC), trimmed of white space.
  public static func shown(_ text: String) -> String {
    let scalars = text.precomposedStringWithCanonicalMapping.unicodeScalars
    guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
      let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
    else { return "" }
    return String(scalars[first...last])
  }

  /// Text in the form for comparing and counting: as displayed, lowercased by Unicode's locale-independent mapping.
  public static func compared(_ text: String) -> String {
    // Lowercasing a composed letter may decompose it: İ becomes i with a dot above.
    shown(text).lowercased().precomposedStringWithCanonicalMapping
  }
}
