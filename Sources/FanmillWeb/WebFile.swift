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

  /// The one page.
  static let page = WebFile("index.html", PackageResources.index_html)

  /// The page's files.
  static let all = [
    WebFile("account.js", PackageResources.account_js),
    WebFile("agree.js", PackageResources.agree_js),
    WebFile("api.js", PackageResources.api_js),
    WebFile("app.js", PackageResources.app_js),
    WebFile("dom.js", PackageResources.dom_js),
    WebFile("fans.js", PackageResources.fans_js),
    WebFile("icon.svg", PackageResources.icon_svg),
    WebFile("ko.js", PackageResources.ko_js),
    WebFile("live.js", PackageResources.live_js),
    WebFile("look.js", PackageResources.look_js),
    WebFile("parts.js", PackageResources.parts_js),
    WebFile("people.js", PackageResources.people_js),
    WebFile("posts.js", PackageResources.posts_js),
    WebFile("scrypt.js", PackageResources.scrypt_js),
    WebFile("seal.js", PackageResources.seal_js),
    WebFile("style.css", PackageResources.style_css),
  ]
}
