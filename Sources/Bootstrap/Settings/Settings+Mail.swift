import CurlClient
import Social

extension Settings {
  /// The server that mail is handed to, whom mail comes from, and the address that it names.
  public struct Mail: Sendable {
    public let server: MailServer
    public let from: MailAddress
    public let link: PasswordResetLink
  }

  /// - Returns: nil where no mail is sent.
  /// - Throws: where there is a server, and not all that goes with it.
  public func mail() throws(SettingsError) -> Mail? {
    guard let mailURL else { return nil }
    guard let mailFrom else { throw .missing(.mailFrom) }
    guard let passwordResetURL else { throw .missing(.passwordResetURL) }
    do throws(Wrong) {
      return Mail(
        server: try Self.mailServer(mailURL.value), from: try Self.mailAddress(mailFrom),
        link: try Self.resetLink(passwordResetURL))
    } catch {
      throw refusal(of: .mailURL, because: error.reason)
    }
  }

  mutating func takeMail(_ reader: SettingsReader) throws(SettingsError) {
    try take(.mailURL, reader.text(.mailURL)) { settings, text throws(Wrong) in
      _ = try Self.mailServer(text)
      settings.mailURL = Secret(text)
    }
    try take(.mailFrom, reader.text(.mailFrom)) { settings, text throws(Wrong) in
      settings.mailFrom = try Self.mailAddress(text).text
    }
    try take(.passwordResetURL, reader.text(.passwordResetURL)) { settings, text throws(Wrong) in
      _ = try Self.resetLink(text)
      settings.passwordResetURL = text
    }
  }

  private static func mailServer(_ text: String) throws(Wrong) -> MailServer {
    do throws(MailError) { return try MailServer(url: text) } catch { throw Wrong(value: text, reason: error.message) }
  }

  private static func mailAddress(_ text: String) throws(Wrong) -> MailAddress {
    do throws(MailError) { return try MailAddress(text) } catch { throw Wrong(value: text, reason: error.message) }
  }

  private static func resetLink(_ text: String) throws(Wrong) -> PasswordResetLink {
    guard let link = PasswordResetLink(text) else {
      throw Wrong(
        value: text, reason: "not a URL that begins with https:// or http:// and has \(PasswordResetLink.place) in it")
    }
    return link
  }
}
