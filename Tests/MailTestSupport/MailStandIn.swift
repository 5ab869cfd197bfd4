import Foundation
import Glibc
import Locking

/// A mail server on 127.0.0.1 with a minimal SMTP for clients: it keeps received mails and refuses those that a test
/// wants refused. Each connection has a thread.
public final class MailStandIn: Sendable {
  /// An accepted mail.
  public struct Mail: Sendable, Equatable {
    public var from: String
    public var recipients: [String]
    /// Head and body, without the dots added before leading dots.
    public var text: String

    /// The value of a header field, unfolded.
    public func field(_ name: String) -> String? {
      let head = text.components(separatedBy: "\r\n\r\n")[0].replacing("\r\n ", with: " ")
      return head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ": ") }
        .map { String($0.dropFirst(name.count + 2)) }
    }

    public var body: String { text.components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "\r\n\r\n") }
  }

  private struct State {
    var mails: [Mail] = []
    var commands: [String] = []
    var connections: [Int32] = []
    var isStopped = false
  }

  public let port: Int
  private let listener: Int32
  private let credentials: String?
  private let answers: [String: String]
  private let state = Locked(State())

  public var mails: [Mail] { state.withLock { $0.mails } }
  /// All lines received, except those of mails.
  public var commands: [String] { state.withLock { $0.commands } }

  /// - Parameters:
  ///   - port: 0 for any free one.
  ///   - credentials: `user:password`, required if set.
  ///   - answers: replaces the usual replies, by the first word of a command; `.` is the end of a mail, and an empty
  ///     reply
  ///     is none at all.
  public init(port: Int = 0, credentials: String? = nil, answers: [String: String] = [:]) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    var reuse: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && listen(listener, 64) == 0
          && getsockname(listener, address, &length) == 0
      }
    }
    guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    self.port = Int(UInt16(bigEndian: address.sin_port))
    self.listener = listener
    self.credentials = credentials
    self.answers = answers
    Thread { [self] in accept() }.start()
  }

  public func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    state.withLock { state in
      state.isStopped = true
      for descriptor in state.connections { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }

  private func accept() {
    // Closed only by its reader: a descriptor closed elsewhere could be another server's by the next call here.
    defer { close(listener) }
    while true {
      let descriptor = Glibc.accept(listener, nil, nil)
      guard descriptor >= 0 else { return }
      let isStopped = state.withLock { state in
        state.connections.append(descriptor)
        return state.isStopped
      }
      if isStopped { shutdown(descriptor, Int32(SHUT_RDWR)) }
      Thread { [self] in
        serve(Line(descriptor))
        state.withLock { state in
          state.connections.removeAll { $0 == descriptor }
          close(descriptor)
        }
      }.start()
    }
  }

  private func serve(_ line: Line) {
    guard line.say(answers["connect"] ?? "220 stand-in") else { return }
    var mail = Mail(from: "", recipients: [], text: "")
    var isKnown = credentials == nil
    while let command = line.next() {
      state.withLock { $0.commands.append(command) }
      let word = command.split(separator: " ").first.map { $0.uppercased() } ?? ""
      if let answer = answers[word] {
        if !answer.isEmpty { guard line.say(answer) else { return } }
        if answer.hasPrefix("421") { return }
        continue
      }
      switch word {
      case "EHLO":
        line.say(credentials == nil ? "250-stand-in\r\n250 8BITMIME" : "250-stand-in\r\n250 AUTH PLAIN")
      case "AUTH":
        var given = command.split(separator: " ").dropFirst(2).first.map(String.init)
        if given == nil, line.say("334 ") { given = line.next() }
        let wanted = "\0" + (credentials ?? "").replacing(":", with: "\0")
        isKnown = given == Data(wanted.utf8).base64EncodedString()
        line.say(isKnown ? "235 welcome" : "535 no")
      case "MAIL" where !isKnown: line.say("530 who are you")
      case "MAIL":
        mail = Mail(from: Self.address(command), recipients: [], text: "")
        line.say("250 ok")
      case "RCPT":
        mail.recipients.append(Self.address(command))
        line.say("250 ok")
      case "DATA":
        line.say("354 go on")
        while let text = line.next(), text != "." {
          mail.text += (text.hasPrefix(".") ? String(text.dropFirst()) : text) + "\r\n"
        }
        let taken = mail
        if let answer = answers["."] {
          if !answer.isEmpty { line.say(answer) }
        } else {
          state.withLock { $0.mails.append(taken) }
          line.say("250 taken")
        }
      case "QUIT":
        line.say("221 bye")
        return
      default: line.say("500 what")
      }
    }
  }

  private static func address(_ command: String) -> String {
    String(command.drop { $0 != "<" }.dropFirst().prefix { $0 != ">" })
  }
}

/// A connection read line by line.
private final class Line {
  private let descriptor: Int32
  private var bytes: [UInt8] = []

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// The next line, without its end; nil if the client hung up.
  func next() -> String? {
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
        let line = bytes[..<end]
        bytes = Array(bytes[(end + 1)...])
        // A carriage return that ends no line stays, so that a test can find it.
        return String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
      }
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { return nil }
      bytes += chunk[..<count]
    }
  }

  @discardableResult
  func say(_ text: String) -> Bool {
    let bytes = Array((text + "\r\n").utf8)
    return send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
  }
}
