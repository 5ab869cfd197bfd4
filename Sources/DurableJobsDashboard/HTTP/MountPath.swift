/// The path that a dashboard is mounted under. Every link of a page begins with it.
struct MountPath: Sendable, Hashable {
  /// The path without a trailing slash, such as `/ops`; empty for the root of the site.
  let base: String

  /// - Parameter path: plain segments, such as `/ops` or `/internal/jobs`; anything else is a programming error.
  init(_ path: String) {
    let segments = path.split(separator: "/")
    for segment in segments {
      precondition(
        DashboardLink.escape(String(segment)) == segment && segment != "." && segment != "..",
        "a dashboard is mounted at a path of plain segments, such as /ops, and not at '\(path)'")
    }
    base = segments.map { "/" + $0 }.joined()
  }

  /// The overview's path.
  var home: String { base.isEmpty ? "/" : base }

  /// The path of a page.
  ///
  /// - Parameter address: relative to the mount, such as `jobs?state=dead`; empty for the overview.
  func link(_ address: String) -> String {
    address.isEmpty || address.hasPrefix("?") ? home + address : "\(base)/\(address)"
  }

  /// Whether an untrusted address leads to a page of the dashboard and nowhere else.
  func contains(_ address: String) -> Bool {
    (address == home || address.hasPrefix(base + "/") || address.hasPrefix(home + "?"))
      && address.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") } && !address.contains("//")
  }
}
