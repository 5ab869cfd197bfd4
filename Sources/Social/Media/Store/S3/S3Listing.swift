import Foundation

/// A page of a bucket's listing (ListObjectsV2).
struct S3Listing {
  struct Entry: Hashable {
    var key = ""
    var bytes = 0
    var modified = Date.distantPast
  }

  private(set) var entries: [Entry] = []
  /// The continuation token for the next page; nil at the end.
  private(set) var next: String?

  /// - Returns: nil if it is not such a page.
  init?(_ xml: [UInt8]) {
    var (entries, entry) = ([Entry](), Entry())
    var (isTruncated, token) = (nil as String?, nil as String?)
    var isWhole = true
    do throws(XMLScanner.Malformed) {
      try XMLScanner.scan(xml) { path, text in
        switch path {
        case "ListBucketResult/IsTruncated": isTruncated = text
        case "ListBucketResult/NextContinuationToken": token = text
        case "ListBucketResult/Contents/Key": entry.key = text
        case "ListBucketResult/Contents/Size":
          if let bytes = Int(text), bytes >= 0 { entry.bytes = bytes } else { isWhole = false }
        case "ListBucketResult/Contents/LastModified":
          if let date = Self.date(text) { entry.modified = date } else { isWhole = false }
        case "ListBucketResult/Contents":
          entries.append(entry)
          entry = Entry()
        default: break
        }
      }
    } catch {
      return nil
    }
    guard isWhole, isTruncated == "false" || (isTruncated == "true" && token?.isEmpty == false) else { return nil }
    self.entries = entries
    next = isTruncated == "true" ? token : nil
  }

  /// `2013-05-24T00:00:00.000Z`, or without the milliseconds.
  private static func date(_ text: String) -> Date? {
    for hasFraction in [true, false] {
      let style = Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction)
      // Either form is valid, so failing to parse the first is not an error.
      if let date = try? style.parse(text) { return date }
    }
    return nil
  }
}
