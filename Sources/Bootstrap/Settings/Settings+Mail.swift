import CurlClient
import Social

extension Settings {
  /// The mail server, the sender, and the links in mails.
  public struct Mail: Sendable {
    public let destination: MailPost.Destination
    public let from: MailAddress
    public let resetLink: TokenLink
    /// nil if mails contain the bare token.
    public let confirmationLink: TokenLink?
    /// nil if mails contain the bare token.
    public let deletionLink: TokenLink?
  }

  /// - Returns: nil if no mail is sent.
  /// - Throws: if a server is configured without the settings that it needs, or if a setting needs a missing server.
  public func mail() throws(SettingsError) -> Mail? {
    guard let mailURL else {
      if signUpConfirmation { throw .missing(.mailURL) }
      return nil
    }
    var (from, resetURL) = (mailFrom, passwordResetURL)
    if mailURL.value.hasPrefix(Self.folderScheme) {
      // A folder accepts any sender.
      from = from ?? "no-reply@localhost"
      resetURL = resetURL ?? "http://localhost/reset?token=\(TokenLink.place)"
    }
    guard let from else { throw .missing(.mailFrom) }
    guard let resetURL else { throw .missing(.passwordResetURL) }
    do throws(Wrong) {
      let confirmation = if let emailConfirmationURL { try Self.link(emailConfirmationURL) } else { nil as TokenLink? }
      let deletion = if let accountDeletionURL { try Self.link(accountDeletionURL) } else { nil as TokenLink? }
      return Mail(
        destination: try Self.destination(mailURL.value), from: try Self.mailAddress(from),
        resetLink: try Self.link(resetURL), confirmationLink: confirmation, deletionLink: deletion)
    } catch {
      throw refusal(of: .mailURL, because: error.reason)
    }
  }

  mutating func takeMail(_ reader: SettingsReader) throws(SettingsError) {
    try take(.mailURL, reader.text(.mailURL)) { settings, text throws(Wrong) in
      _ = try Self.destination(text)
      settings.mailURL = Secret(text)
    }
    try take(.mailFrom, reader.text(.mailFrom)) { settings, text throws(Wrong) in
      settings.mailFrom = try Self.mailAddress(text).text
    }
    try take(.passwordResetURL, reader.text(.passwordResetURL)) { settings, text throws(Wrong) in
      _ = try Self.link(text)
      settings.passwordResetURL = text
    }
    try take(.emailConfirmationURL, reader.text(.emailConfirmationURL)) { settings, text throws(Wrong) in
      _ = try Self.link(text)
      settings.emailConfirmationURL = text
    }
    try take(.accountDeletionURL, reader.text(.accountDeletionURL)) { settings, text throws(Wrong) in
      _ = try Self.link(text)
      settings.accountDeletionURL = text
    }
    try take(.signUpConfirmation, reader.text(.signUpConfirmation)) { settings, text throws(Wrong) in
      settings.signUpConfirmation = try Self.isOn(text)
    }
  }

  private static let folderScheme = "file:"

  private static func destination(_ text: String) throws(Wrong) -> MailPost.Destination {
    if text.hasPrefix(folderScheme) {
      let path = String(text.dropFirst(folderScheme.count))
      guard path.hasPrefix("/"), !path.hasPrefix("//") else {
        throw Wrong(
          value: text, reason: "file: needs the absolute path of a folder, such as file:/tmp/mail")
      }
      return .folder(path)
    }
    do throws(MailError) { return .server(try MailServer(url: text)) } catch {
      throw Wrong(value: text, reason: error.message)
    }
  }

  private static func mailAddress(_ text: String) throws(Wrong) -> MailAddress {
    do throws(MailError) { return try MailAddress(text) } catch { throw Wrong(value: text, reason: error.message) }
  }

  private static func link(_ text: String) throws(Wrong) -> TokenLink {
    guard let link = TokenLink(text) else {
      throw Wrong(
        value: text, reason: "not a URL that begins with https:// or http:// and has \(TokenLink.place) in it")
    }
    return link
  }
}
