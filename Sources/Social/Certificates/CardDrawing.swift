import Foundation

/// A certificate as a picture: the celeb, the fan, since when, the hearts, and a QR code of the certificate's address.
public struct CardDrawing: Sendable {
  static let width = 1200
  static let height = 630

  let certificate: FanCertificate
  /// The celeb's name on its platform.
  let title: String
  /// The fan's name.
  let name: String
  /// The celeb's picture: a JPEG, PNG or WebP file.
  let picture: [UInt8]?
  /// The address that verifies the certificate.
  let address: String

  /// The drawing as SVG. It follows the viewer's light or dark color scheme.
  var svg: String {
    """
    <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.width)" height="\(Self.height)" viewBox="0 0 1200 630" \
    role="img" aria-label="\(Self.escaped(summary))">
    <style>
    .paper { fill: #fffdf8 } .edge { fill: none; stroke: #e4dccb; stroke-width: 2 } .ink { fill: #1f1b16 }
    .soft { fill: #6b6257 } .heart { fill: #d8345f } .disc { fill: #efe7d8 }
    text { font-family: system-ui, 'Noto Sans KR', 'Noto Sans CJK KR', 'NanumGothic', 'Apple SD Gothic Neo', \
    'Malgun Gothic', 'Helvetica Neue', Arial, sans-serif }
    @media (prefers-color-scheme: dark) {
    .paper { fill: #1d1a17 } .edge { stroke: #3d362e } .ink { fill: #f4eee4 } .soft { fill: #b3a899 }
    .heart { fill: #ff6b8f } .disc { fill: #322c26 }
    }
    </style>
    <rect class="paper" width="1200" height="630"/>
    <rect class="edge" x="24" y="24" width="1152" height="582" rx="24"/>
    \(portrait)
    <text class="soft" x="304" y="128" font-size="28">Fan certificate</text>
    \(Self.line(title, x: 304, y: 192, size: 56, width: 820, isBold: true))
    \(Self.line("\(platform) · \(certificate.account)", x: 304, y: 240, size: 28, width: 820))
    \(Self.line(name, x: 80, y: 382, size: 48, width: 660, isBold: true))
    \(Self.line("@" + certificate.username, x: 80, y: 424, size: 26, width: 660))
    \(fact(80, Self.day(certificate.since), "fan since"))
    \(fact(364, Self.grouped(certificate.hearts), certificate.hearts == 1 ? "heart" : "hearts", "heart"))
    \(fact(584, "#\(Self.grouped(certificate.rank))", "of \(Self.grouped(certificate.fans)) \(fans)"))
    <text class="soft" x="80" y="588" font-size="18">as of \(Self.day(certificate.issuedAt)), UTC</text>
    \(code)
    </svg>

    """
  }

  private var summary: String { "\(name) has been a fan of \(title) since \(Self.day(certificate.since))" }

  private var fans: String { certificate.fans == 1 ? "fan" : "fans" }

  private var platform: String {
    switch certificate.platform {
    case .youtube: "YouTube"
    case .instagram: "Instagram"
    }
  }

  private func fact(_ x: Int, _ value: String, _ label: String, _ style: String = "ink") -> String {
    """
    <text class="\(style)" x="\(x)" y="510" font-size="36" font-weight="700">\(Self.escaped(value))</text>
    <text class="soft" x="\(x)" y="546" font-size="22">\(Self.escaped(label))</text>
    """
  }

  /// The celeb's picture, or else its first letter.
  private var portrait: String {
    if let picture, let type = Self.type(of: picture) {
      return """
        <clipPath id="round"><circle cx="176" cy="176" r="96"/></clipPath>
        <image x="80" y="80" width="192" height="192" preserveAspectRatio="xMidYMid slice" clip-path="url(#round)" \
        href="data:\(type);base64,\(Data(picture).base64EncodedString())"/>
        """
    }
    return """
      <circle class="disc" cx="176" cy="176" r="96"/>
      <text class="soft" x="176" y="208" font-size="88" font-weight="700" text-anchor="middle">\
      \(Self.escaped(title.prefix(1).uppercased()))</text>
      """
  }

  /// Dark on white in every color scheme, as QR readers require.
  private var code: String {
    guard let code = QRCode(address) else { return "" }
    let side = code.size + 8
    var path = ""
    for row in 0..<code.size {
      var column = 0
      while column < code.size {
        var end = column
        while end < code.size, code[row, end] { end += 1 }
        if end > column { path += "M\(column + 4) \(row + 4)h\(end - column)v1h-\(end - column)z" }
        column = max(end, column + 1)
      }
    }
    // A whole number of pixels per module, since readers measure modules.
    let length = max(1, 352 / side) * side
    return """
      <svg x="\(1136 - length)" y="\(590 - length)" width="\(length)" height="\(length)" \
      viewBox="0 0 \(side) \(side)" shape-rendering="crispEdges">
      <rect width="\(side)" height="\(side)" fill="#fff"/><path fill="#000" d="\(path)"/></svg>
      """
  }

  private static func line(
    _ text: String, x: Int, y: Int, size: Int, width: Int, isBold: Bool = false
  ) -> String {
    """
    <text class="\(isBold ? "ink" : "soft")" x="\(x)" y="\(y)" font-size="\(size)" \
    font-weight="\(isBold ? 700 : 400)">\(escaped(fitted(text, width, size)))</text>
    """
  }

  /// The part of a text that fits on a line, using a generous estimate of character widths.
  private static func fitted(_ text: String, _ width: Int, _ size: Int) -> String {
    // A Korean, Chinese or Japanese character, or an emoji, is as wide as it is high; a Latin one is about half as
    // wide.
    func ems(_ character: Character) -> Double {
      (character.unicodeScalars.first?.value ?? 0) >= 0x1100 ? 1 : character.isUppercase ? 0.72 : 0.58
    }
    let room = Double(width) / Double(size)
    let line = text.filter { !$0.isNewline }
    var used = 0.0
    for (place, character) in line.enumerated() {
      used += ems(character)
      if used > room { return line.prefix(max(0, place - 1)) + "…" }
    }
    return line
  }

  /// Escapes text for XML and replaces characters that XML does not allow.
  public static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{FFFE}", "\u{FFFF}": result += " "
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// The media type of a file, detected by its first bytes; nil for an unsupported format.
  private static func type(of file: [UInt8]) -> String? {
    if file.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
    if file.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return "image/png" }
    if file.starts(with: "RIFF".utf8), file.dropFirst(8).starts(with: "WEBP".utf8) { return "image/webp" }
    return nil
  }

  private static func day(_ date: Date) -> String { String(date.formatted(.iso8601).prefix(10)) }

  private static func grouped(_ number: Int) -> String {
    number.formatted(.number.grouping(.automatic).locale(Locale(identifier: "en_US")))
  }
}
