import CFanmillWeb

/// A file of the web client, compiled in.
struct WebFile: Sendable {
  let name: String
  let type: String
  let bytes: [UInt8]
  /// The version, for `If-None-Match`.
  let tag: String

  private init(_ name: String, _ bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
    type =
      switch name.split(separator: ".").last {
      case "html": "text/html; charset=utf-8"
      case "css": "text/css; charset=utf-8"
      case "js": "text/javascript; charset=utf-8"
      default: "image/svg+xml"
      }
    // 64-bit FNV-1a.
    let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    tag = "\"\(String(hash, radix: 16))\""
  }

  /// The page and its files.
  private static let compiled: [WebFile] = {
    var files: [WebFile] = []
    while let asset = web_asset(files.count)?.pointee {
      let bytes = UnsafeBufferPointer(start: asset.bytes, count: asset.size)
      files.append(WebFile(String(cString: asset.name), Array(bytes)))
    }
    return files
  }()

  /// The one page.
  static let page = compiled[0]

  /// The page's files.
  static let all = compiled.dropFirst()
}
