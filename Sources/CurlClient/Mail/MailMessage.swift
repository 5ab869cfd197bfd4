import Foundation

/// A plain-text mail to one recipient.
public struct MailMessage: Sendable {
  public var to: MailAddress
  public var from: MailAddress
  public var subject: String
  /// Lines end with a line feed.
  public var text: String
  /// The local part of its Message-ID: equal when the same mail is sent again, so that mailboxes recognize it.
  public var id: String
  public var date: Date

  public init(to: MailAddress, from: MailAddress, subject: String, text: String, id: String, date: Date) {
    self.to = to
    self.from = from
    self.subject = subject
    self.text = text
    self.id = id
    self.date = date
  }

  /// The mail in transfer format (RFC 5322). Subject, text and id cannot break out of their places, whatever they
  /// contain.
  public func encoded() -> [UInt8] {
    let id = id.utf8.map { Self.isPlain($0) ? Character(Unicode.Scalar($0)) : "-" }
    var lines = [
      "Date: \(Self.written(date))", "From: \(from.text)", "To: \(to.text)", "Subject: \(Self.word(subject))",
      "Message-ID: <\(String(id))@\(from.domain)>", "Auto-Submitted: auto-generated", "MIME-Version: 1.0",
      "Content-Type: text/plain; charset=utf-8",
    ]
    var body = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n").split(
      separator: "\n", omittingEmptySubsequences: false)
    // An empty remainder after the last line end is not a line.
    if body.last?.isEmpty == true { body.removeLast() }
    if body.allSatisfy({ $0.utf8.count <= 998 && $0.utf8.allSatisfy { ($0 >= 0x20 && $0 < 0x7F) || $0 == 0x09 } }) {
      lines += ["Content-Transfer-Encoding: 7bit", ""] + body.map(String.init)
    } else {
      let encoded = Data(body.map { $0 + "\r\n" }.joined().utf8)
        .base64EncodedString(options: [.lineLength76Characters, .endLineWithCarriageReturn, .endLineWithLineFeed])
      lines += ["Content-Transfer-Encoding: base64", "", encoded]
    }
    return Array((lines.joined(separator: "\r\n") + "\r\n").utf8)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x2D
  }

  /// Text for a header field: unchanged, or in encoded words of at most 75 characters (RFC 2047).
  private static func word(_ text: String) -> String {
    if text.utf8.count <= 60, text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), !text.contains("=?") { return text }
    var words: [[UInt8]] = [[]]
    for character in text.unicodeScalars {
      let bytes = Array(String(character).utf8)
      if words[words.count - 1].count + bytes.count > 42 { words.append([]) }
      words[words.count - 1] += bytes
    }
    return words.map { "=?utf-8?B?\(Data($0).base64EncodedString())?=" }.joined(separator: "\r\n ")
  }

  private static func written(_ date: Date) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss +0000"
    return formatter.string(from: date)
  }
}
