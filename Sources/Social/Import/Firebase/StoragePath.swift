import Foundation
import Glibc

/// The place of a picture in the storage, from what records say of it.
enum StoragePath {
  enum Reading: Equatable {
    /// Relative to the storage's folder.
    case path(String)
    /// Elsewhere on the web, such as the picture of a Google account.
    case external
    case malformed
  }

  /// Reads a path, a `gs://` address, or a download address of Firebase.
  static func read(_ text: String) -> Reading {
    if let rest = part(of: text, after: "gs://") {
      guard let slash = rest.firstIndex(of: "/") else { return .malformed }
      return checked(String(rest[rest.index(after: slash)...]))
    }
    if let rest = part(of: text, after: "https://firebasestorage.googleapis.com/")
      ?? part(of: text, after: "https://storage.googleapis.com/")
    {
      let address = rest.prefix { $0 != "?" && $0 != "#" }
      // v0/b/BUCKET/o/PATH, with the path's slashes escaped; or BUCKET/PATH.
      if let object = address.range(of: "/o/"), address.hasPrefix("v0/b/") {
        return decoded(address[object.upperBound...])
      }
      guard let slash = address.firstIndex(of: "/") else { return .malformed }
      return decoded(address[address.index(after: slash)...])
    }
    if text.contains("://") { return .external }
    return checked(text.hasPrefix("/") ? String(text.dropFirst()) : text)
  }

  private static func part(of text: String, after start: String) -> Substring? {
    text.hasPrefix(start) ? text.dropFirst(start.count) : nil
  }

  private static func decoded(_ text: Substring) -> Reading {
    guard let path = String(text).removingPercentEncoding else { return .malformed }
    return checked(path)
  }

  /// Refuses paths that lead out of the folder.
  private static func checked(_ path: String) -> Reading {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    guard !path.isEmpty, path.utf8.count <= 1024, !path.utf8.contains(0),
      parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." })
    else { return .malformed }
    return .path(path)
  }
}
