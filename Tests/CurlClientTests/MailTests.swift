import Foundation
import Locking
import MailTestSupport
import PrivateServers
import Reactor
import TestSupport
import Testing

@testable import CurlClient

@Suite("Mail", .timeLimit(.minutes(2)))
struct MailTests {
  private func message(
    to: String = "ann@example.org", subject: String = "A subject", text: String = "a text\n"
  ) throws -> MailMessage {
    MailMessage(
      to: try MailAddress(to), from: try MailAddress("no-reply@example.org"), subject: subject, text: text, id: "an-id",
      date: Date(timeIntervalSince1970: 1_790_000_000))
  }

  /// The error of a mail; nil if it is accepted. Passwords, addresses and text never appear in it.
  private func failure(
    _ url: String, _ message: MailMessage? = nil, _ configure: (inout HTTPClientConfiguration) -> Void = { _ in }
  ) async throws -> MailError? {
    var configuration = HTTPClientConfiguration()
    configuration.connectTimeout = .seconds(60)
    configuration.timeout = .seconds(60)
    configuration.stallTimeout = .seconds(60)
    configure(&configuration)
    let loop = EventLoop(name: "mail-test")
    defer { loop.stop() }
    let client = try MailClient(
      server: try MailServer(url: url), configuration: configuration, loop: loop, logger: .quiet)
    let message = try message ?? self.message()
    do throws(MailError) {
      try await client.send(message)
      await client.close()
      return nil
    } catch {
      await client.close()
      for secret in ["PASSWORD", "ann@", "no-reply@", "a text"] { #expect(!"\(error)".contains(secret), "\(error)") }
      return error
    }
  }

  @Test func aMailArrivesAsItIs() async throws {
    let server = try MailStandIn()
    defer { server.stop() }
    // A line with only a dot would end the mail; a leading dot would be lost.
    let text = "Hello,\n.\n.a dot before\n\nlast line\n"
    #expect(try await failure("smtp://127.0.0.1:\(server.port)", try message(text: text)) == nil)
    let mail = try #require(server.mails.first)
    #expect(server.mails.count == 1)
    #expect(mail.from == "no-reply@example.org" && mail.recipients == ["ann@example.org"])
    #expect(mail.field("From") == "no-reply@example.org" && mail.field("To") == "ann@example.org")
    #expect(mail.field("Subject") == "A subject" && mail.field("Message-ID") == "<an-id@example.org>")
    #expect(mail.field("Date") == "Mon, 21 Sep 2026 14:13:20 +0000")
    #expect(mail.field("Content-Transfer-Encoding") == "7bit")
    #expect(mail.body == text.replacing("\n", with: "\r\n"))
  }

  @Test func whatIsNotPlainIsEncoded() async throws {
    let server = try MailStandIn()
    defer { server.stop() }
    let text = "Grüße an alle,\n" + String(repeating: "lang ", count: 300) + "\n"
    let subject = "Ein Betreff, der länger ist, als eine Zeile sein darf, und Umlaute hat: ä ö ü ß"
    #expect(try await failure("smtp://127.0.0.1:\(server.port)", try message(subject: subject, text: text)) == nil)
    let mail = try #require(server.mails.first)
    #expect(mail.text.utf8.allSatisfy { $0 < 0x80 })
    #expect(mail.text.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 78 })
    let body = Data(base64Encoded: mail.body, options: .ignoreUnknownCharacters).map {
      String(decoding: $0, as: UTF8.self)
    }
    #expect(body == text.replacing("\n", with: "\r\n"))
    let words = try #require(mail.field("Subject")).split(separator: " ")
    #expect(words.allSatisfy { $0.hasPrefix("=?utf-8?B?") && $0.hasSuffix("?=") && $0.count <= 75 })
    let decoded = words.compactMap { Data(base64Encoded: String($0.dropFirst(10).dropLast(2))) }.reduce(Data(), +)
    #expect(String(decoding: decoded, as: UTF8.self) == subject)
  }

  @Test func nothingBreaksOutOfItsField() throws {
    let attack = "x\r\nBcc: eve@example.org\r\n\r\n<b>"
    var message = try message(subject: attack, text: "a\rb\r\nc")
    message.id = attack
    let lines = String(decoding: message.encoded(), as: UTF8.self).components(separatedBy: "\r\n")
    #expect(!lines.contains { $0.hasPrefix("Bcc") || $0.contains("<b>") })
    #expect(lines.filter { $0.isEmpty }.count == 2 && lines.last?.isEmpty == true)
    #expect(lines.suffix(4) == ["a", "b", "c", ""])
    #expect(lines.allSatisfy { !$0.contains("\r") && !$0.contains("\n") })
  }

  @Test(arguments: [
    "", "ann", "@example.org", "ann@", "a@b@c", "ann@example.org\r\nRCPT TO:<eve@example.org>", "ann@example.org\n",
    "ann@exam\rple.org", "a nn@example.org", "<ann@example.org>", "ann>@example.org", "ann,eve@example.org",
    "ann;eve@example.org", "\"ann\"@example.org", "ann(x)@example.org", "ann:eve@example.org", ".ann@example.org",
    "ann@example..org", "ann@example.org ", "ann@example.org\0", "ann@[127.0.0.1]", "ann@exa\u{2028}mple.org",
    "ann@exa\u{85}mple.org",
  ])
  func isNoAddress(_ text: String) { #expect(throws: MailError.self) { try MailAddress(text) } }

  @Test(arguments: ["ann@example.org", "a.b+c_d@sub.example.org", "o'neil@example.org", "grün@bücher.example", "a@b"])
  func isAnAddress(_ text: String) throws {
    #expect(try MailAddress(text).text == text)
    #expect(try MailAddress(text).domain == text.split(separator: "@")[1])
  }

  @Test(arguments: [
    "", "mail.example.org", "http://mail.example.org", "smtp://", "smtp://user@mail.example.org",
    "smtp://mail.example.org/path", "smtp://mail.example.org?x=y", "smtp://mail.example.org:0", "smtp://:25",
    "smtp://mail.example.org:99999", "smtp://u%0D%0A:PASSWORD@mail.example.org", "smtp://:PASSWORD@mail.example.org",
  ])
  func isNoServer(_ url: String) {
    let error = #expect(throws: MailError.self) { try MailServer(url: url) }
    #expect(error?.code == .invalid && error?.message.contains("PASSWORD") == false)
  }

  @Test func aServersURLSaysHowItIsReached() throws {
    let plain = try MailServer(url: "smtp://mail.example.org")
    #expect(plain.name == "smtp://mail.example.org:587" && !plain.requiresTLS && plain.user == nil)
    let known = try MailServer(url: "smtp://us%40er:pa%3Ass@mail.example.org:2525/")
    #expect(known.name == "smtp://mail.example.org:2525" && known.requiresTLS)
    #expect(known.user == "us@er" && known.password == "pa:ss")
    let tls = try MailServer(url: "smtps://mail.example.org")
    #expect(tls.name == "smtps://mail.example.org:465" && tls.requiresTLS)
    // Connections within this machine need no encryption.
    for host in ["localhost", "127.0.0.1", "[::1]"] {
      #expect(try !MailServer(url: "smtp://user:password@\(host)").requiresTLS)
    }
  }

  @Test func aServerMayAskWhoSends() async throws {
    let server = try MailStandIn(credentials: "us@er:PASSWORD")
    defer { server.stop() }
    #expect(try await failure("smtp://us%40er:PASSWORD@127.0.0.1:\(server.port)") == nil)
    #expect(server.mails.count == 1)
    let refused = try await failure("smtp://us%40er:PASSWORD-2@127.0.0.1:\(server.port)")
    #expect(refused?.code == .refused && refused?.message.contains("535") == true, "\(String(describing: refused))")
    let unknown = try await failure("smtp://127.0.0.1:\(server.port)")
    #expect(unknown?.code == .refused)
    #expect(server.mails.count == 1)
  }

  @Test(arguments: [
    ["MAIL": "550 not from you"], ["RCPT": "550 <ann@example.org> unknown"], ["RCPT": "451 greylisted"],
    ["DATA": "554 no"], [".": "552 too large"], ["connect": "554 go away"],
  ])
  func whatAServerRefusesIsRefused(_ answers: [String: String]) async throws {
    let server = try MailStandIn(answers: answers)
    defer { server.stop() }
    let error = try #require(try await failure("smtp://127.0.0.1:\(server.port)"))
    #expect(error.code == .refused || answers["connect"] != nil, "\(error)")
    #expect(error.message.contains("smtp://127.0.0.1:\(server.port)"))
    #expect(server.mails.isEmpty)
  }

  @Test func aServerThatIsAwayIsUnavailable() async throws {
    let error = try await failure("smtp://127.0.0.1:\(try FreePort.find())")
    #expect(error?.code == .unavailable && error?.message.contains("not reachable") == true)
  }

  @Test func aServerThatFallsSilentOrHangsUpMayHaveTakenTheMail() async throws {
    let silent = try MailStandIn(answers: [".": ""])
    defer { silent.stop() }
    let stalled = try await failure("smtp://127.0.0.1:\(silent.port)") { $0.stallTimeout = .milliseconds(50) }
    #expect(stalled?.code == .interrupted, "\(String(describing: stalled))")
    let rude = try MailStandIn(answers: ["RCPT": "421 closing"])
    defer { rude.stop() }
    let cut = try await failure("smtp://127.0.0.1:\(rude.port)")
    #expect(cut?.code == .refused || cut?.code == .interrupted)
  }

  /// With a password and a remote server nothing is sent in plain text, and the certificate is checked.
  @Test func aPasswordTravelsEncryptedOrNotAtAll() async throws {
    let server = try OpenSSLServer([])
    defer { #expect(throws: Never.self) { try server.stop() } }
    let url = "smtps://user:PASSWORD@localhost:\(server.port)"
    try await eventually { try await failure(url) { _ in }?.message.contains("not reachable") == false }
    let untrusted = try await failure(url)
    #expect(untrusted?.code == .unavailable, "\(String(describing: untrusted))")
    let plain = try MailStandIn(credentials: "user:PASSWORD")
    defer { plain.stop() }
    // The same server under a name other than this machine's.
    var elsewhere = try MailServer(url: "smtp://user:PASSWORD@127.0.0.1:\(plain.port)")
    elsewhere.requiresTLS = true
    let loop = EventLoop(name: "mail-test")
    defer { loop.stop() }
    let client = try MailClient(server: elsewhere, loop: loop, logger: .quiet)
    let refused = try await #require(throws: MailError.self) { try await client.send(try message()) }
    await client.close()
    #expect(refused.code == .unavailable, "\(refused)")
    #expect(plain.commands.allSatisfy { !$0.hasPrefix("AUTH") && !$0.hasPrefix("MAIL") })
  }

  @Test func aCancelledTaskGetsItsAnswerAtOnce() async throws {
    let silent = try MailStandIn(answers: ["MAIL": ""])
    defer { silent.stop() }
    let loop = EventLoop(name: "mail-test")
    defer { loop.stop() }
    let client = try MailClient(
      server: try MailServer(url: "smtp://127.0.0.1:\(silent.port)"), loop: loop, logger: .quiet)
    try await withThrowingTaskGroup(of: MailError?.self) { group in
      let message = try message()
      group.addTask {
        do throws(MailError) { try await client.send(message) } catch { return error }
        return nil
      }
      try await eventually { silent.commands.contains { $0.hasPrefix("MAIL") } }
      group.cancelAll()
      let error = try await group.next() ?? nil
      #expect(error?.code == .cancelled)
    }
    await client.close()
  }
}
