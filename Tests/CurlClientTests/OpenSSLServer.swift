import Foundation
import PrivateServers

/// `openssl s_server` with a self-signed certificate for `localhost`.
final class OpenSSLServer: Sendable {
  let port: Int
  /// The certificate, which is its own authority.
  let certificate: String
  private let folder: String
  private let process: Process
  /// The streams to and from the client, in the mode that passes both through.
  let received: FileHandle
  private let toSend: FileHandle

  /// - Parameters:
  ///   - arguments: the mode of the server; without one it answers nothing by itself.
  ///   - files: the files in its folder, by name.
  init(_ arguments: [String], files: (Int) -> [String: String] = { _ in [:] }) throws {
    folder = NSTemporaryDirectory() + "fanmill-tls-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    certificate = folder + "/certificate.pem"
    port = try FreePort.find()
    for (name, text) in files(port) { try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name)) }
    let request = Process()
    request.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
    request.arguments = [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
      folder + "/key.pem", "-out", certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
      "subjectAltName=DNS:localhost",
    ]
    request.standardError = FileHandle.nullDevice
    try request.run()
    request.waitUntilExit()

    let (input, output) = (Pipe(), Pipe())
    process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.arguments =
      ["s_server", "-accept", String(port), "-cert", certificate, "-key", folder + "/key.pem", "-quiet"] + arguments
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    toSend = input.fileHandleForWriting
    received = output.fileHandleForReading
  }

  func send(_ bytes: [UInt8]) throws { try toSend.write(contentsOf: Data(bytes)) }

  func stop() throws {
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    try FileManager.default.removeItem(atPath: folder)
  }
}
