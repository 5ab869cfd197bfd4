/// A file that pages load.
struct Asset: Sendable {
  let name: String
  let type: String
  let bytes: [UInt8]

  static let all = [
    Asset(name: "style.css", type: "text/css; charset=utf-8", bytes: PackageResources.style_css),
    Asset(name: "live.js", type: "text/javascript; charset=utf-8", bytes: PackageResources.live_js),
    Asset(name: "icon.svg", type: "image/svg+xml", bytes: PackageResources.icon_svg),
  ]

  /// A hash of all files' bytes: 64-bit FNV-1a, in hexadecimal.
  static let fingerprint = String(
    all.lazy.flatMap(\.bytes).reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 },
    radix: 16)
}
