import Foundation
import LibPQClient
import LocalStack
import PrivateServers
import ProgramTestSupport
import TestSupport
import Testing

/// Clients that start to upload a picture and do not finish.
@Suite("Uploads that are cut off", .timeLimit(.minutes(3)))
struct UploadConnectionTests {
  @Test("Who stops sending is told so, who goes away is forgotten, and nothing of either is left")
  func leaveNothing() async throws {
    try await TestStack.with { stack in
      try await stack.pool.execute("INSERT INTO accounts (username) VALUES ('ann')")
      let token = try #require(try await CLI(stack)("accounts", "token", "ann", "--json").fields()["token"] as? String)
      let port = try FreePort.find()
      let api = try BuiltProgram("fanmill-api").start(
        environment: stack.settings.merging([
          "FANMILL_API_PORT": "\(port)", "FANMILL_HTTP_BODY_TIMEOUT": "1s",
        ]) { $1 })
      defer { api.send(SIGKILL) }
      try await eventually("the API is ready") { LoopbackHTTP(port: port).isReady() }
      let head = """
        Authorization: Bearer \(token)\r\nContent-Type: image/png\r\nContent-Length: 4000000\r\n\r\n\
        \(String(repeating: "x", count: 100_000))
        """
      let silent = try OpenStream(port: port, method: "POST", "/v1/media", head, reads: true)
      var gone: OpenStream? = try OpenStream(port: port, method: "POST", "/v1/media", head, reads: false)
      try await eventually("both are being received") { try Self.received(by: api.pid, in: stack.mediaFolder) == 2 }
      withExtendedLifetime(gone) {}
      gone = nil
      try await eventually("who stopped is told so") { silent.received.contains(#""code":"request_timeout""#) }
      try await eventually("neither's file is open any more") {
        try Self.received(by: api.pid, in: stack.mediaFolder) == 0
      }
      #expect(try Self.files(in: stack.mediaFolder) == [])
      #expect(try await stack.count("SELECT count(*) FROM media") == 0)
      #expect(try await stack.count("SELECT count(*) FROM media_files") == 0)
    }
  }

  /// The number of uploads that a process is receiving: their files have no name.
  private static func received(by pid: pid_t, in media: String) throws -> Int {
    let folder = "/proc/\(pid)/fd"
    return try FileManager.default.contentsOfDirectory(atPath: folder).count { name in
      var target = [CChar](repeating: 0, count: 1024)
      // A descriptor closed since it was listed does not count.
      let length = readlink("\(folder)/\(name)", &target, target.count - 1)
      guard length > 0 else { return false }
      let path = String(decoding: target.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self)
      return path.hasPrefix(media + "/") && path.hasSuffix(" (deleted)")
    }
  }

  private static func files(in folder: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: folder).filter { path in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(folder)/\(path)", isDirectory: &isFolder) && !isFolder.boolValue
    }
  }
}
