import CurlClient
import Foundation
import Logging
import Reactor

/// Sends mails through a server, or writes them into a folder. Mails are rare, so each opens its own client, and other
/// processes keep none.
public struct MailPost: Sendable {
  public enum Destination: Sendable {
    case server(MailServer)
    /// For development: one file per mail, named after its Message-ID. A mail sent again replaces its file.
    case folder(String)
  }

  private let destination: Destination
  private let logger: Logger

  public init(_ destination: Destination, logger: Logger) {
    self.destination = destination
    self.logger = logger
  }

  /// - Throws: `MailError`; for a folder, the reason why the file cannot be written.
  public func send(_ message: MailMessage) async throws {
    switch destination {
    case .server(let server): try await send(message, to: server)
    case .folder(let path): try Self.write(message, into: path)
    }
  }

  private static func write(_ message: MailMessage, into path: String) throws {
    let folder = URL(filePath: path, directoryHint: .isDirectory)
    // The tokens in mails open accounts, so only the owner may read them.
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let name = message.id.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    try Data(message.encoded()).write(to: folder.appending(path: "\(name).eml"), options: .atomic)
  }

  private func send(_ message: MailMessage, to server: MailServer) async throws {
    let loop = EventLoop(name: "fanmill-mail")
    defer { loop.stop() }
    let client = try MailClient(server: server, loop: loop, logger: logger)
    do throws(MailError) {
      try await client.send(message)
    } catch {
      await client.close()
      throw error
    }
    await client.close()
  }
}
