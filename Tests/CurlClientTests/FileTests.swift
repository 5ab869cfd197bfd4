import Foundation
import Glibc
import HTTPTypes
import Locking
import TestSupport
import Testing

@testable import CurlClient

@Suite("Bodies in files", .timeLimit(.minutes(2)))
struct FileTests {
  private func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "fanmill-files-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body(folder)) } catch { outcome = .failure(error) }
    try FileManager.default.removeItem(atPath: folder)
    try outcome.get()
  }

  private func request(_ method: HTTPRequest.Method, _ server: ScriptedServer) -> HTTPRequest {
    var request = get("/file", port: server.port)
    request.method = method
    return request
  }

  private func error(_ body: () async throws -> Void) async -> HTTPClientError? {
    do {
      try await body()
    } catch let error as HTTPClientError {
      return error
    } catch {
      Issue.record("\(error)")
    }
    return nil
  }

  // MARK: Uploads

  @Test(arguments: [HTTPRequest.Method.put, .post], [0, 1, 400_000])
  func aFileIsSentWhole(_ method: HTTPRequest.Method, _ size: Int) async throws {
    let received = Locked("")
    let server = try ScriptedServer { connection in
      while let text = connection.readRequest() {
        received.withLock { $0 = text }
        connection.answer("done")
      }
    }
    defer { server.stop() }
    try await withFolder { folder in
      let text = String((0..<size).map { _ in Character(Unicode.Scalar(UInt8.random(in: 0x20...0x7E))) })
      try text.write(toFile: folder + "/file", atomically: true, encoding: .utf8)
      try await withClient { client in
        let (response, body) = try await client.upload(request(method, server), from: folder + "/file")
        #expect(response.status == .ok && body == Array("done".utf8))
      }
      let parts = received.withLock { $0 }.components(separatedBy: "\r\n\r\n")
      #expect(parts[0].hasPrefix("\(method.rawValue) /file HTTP/1.1\r\n"))
      #expect(parts[0].contains("\r\nContent-Length: \(size)") && !parts[0].contains("Transfer-Encoding"))
      #expect(!parts[0].contains("Expect") && parts[1] == text)
    }
  }

  @Test func anUploadBeginsAnewWhereAKeptConnectionWasClosed() async throws {
    let server = try ScriptedServer { connection in
      // The first request of each connection is answered; the second finds it closed.
      if let text = connection.readRequest() { connection.answer(String(text.utf8.count)) }
      _ = connection.readRequest()
    }
    defer { server.stop() }
    try await withFolder { folder in
      try String(repeating: "x", count: 500_000).write(toFile: folder + "/file", atomically: true, encoding: .utf8)
      try await withClient { client in
        var sizes: Set<[UInt8]> = []
        for _ in 0..<4 { sizes.insert(try await client.upload(request(.put, server), from: folder + "/file").1) }
        #expect(sizes.count == 1)
      }
    }
    #expect(server.accepted == 4 && server.requests == 7)
  }

  @Test func whatIsNoFileIsNotSent() async throws {
    let server = try ScriptedServer.answering("")
    defer { server.stop() }
    try await withFolder { folder in
      try #require(mkfifo(folder + "/pipe", 0o600) == 0)
      try await withClient { client in
        for path in ["/nowhere/file", folder, folder + "/pipe"] {
          let error = await error { _ = try await client.upload(request(.put, server), from: path) }
          #expect(error?.code == .file && error?.message.contains(path) == true)
        }
        let error = await error { _ = try await client.upload(request(.get, server), from: "/etc/hostname") }
        #expect(error?.code == .invalidRequest)
      }
    }
    #expect(server.accepted == 0)
  }

  @Test func aFileThatBecomesShorterIsAnErrorAndAFileThatGrowsIsNot() async throws {
    try await withFolder { folder in
      let path = folder + "/file"
      try Data(repeating: 1, count: 100).write(to: URL(filePath: path))
      let file = try UploadFile(path, name: "PUT x")
      var buffer = [UInt8](repeating: 0, count: 40)
      #expect(try buffer.withUnsafeMutableBytes { (buffer) throws in try file.read(into: buffer) } == 40)
      try #require(truncate(path, 200) == 0)
      #expect(try buffer.withUnsafeMutableBytes { (buffer) throws in try file.read(into: buffer) } == 40)
      try #require(truncate(path, 80) == 0)
      #expect(throws: HTTPClientError.self) {
        try buffer.withUnsafeMutableBytes { (buffer) throws in try file.read(into: buffer) }
      }
      #expect(file.rewind(to: 0) && !file.rewind(to: 101) && !file.rewind(to: -1))
    }
  }

  // MARK: Downloads

  @Test(arguments: [0, 1, 3_000_000])
  func aBodyIsInItsFileWhole(_ size: Int) async throws {
    let text = String(repeating: "x", count: size)
    let server = try ScriptedServer { connection in while connection.readRequest() != nil { connection.answer(text) } }
    defer { server.stop() }
    try await withFolder { folder in
      try "old".write(toFile: folder + "/file", atomically: true, encoding: .utf8)
      try await withClient { client in
        let (response, body) = try await client.download(get(port: server.port), to: folder + "/file", limit: size)
        #expect(response.status == .ok && body.isEmpty)
      }
      #expect(try String(contentsOfFile: folder + "/file", encoding: .utf8) == text)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["file"])
    }
  }

  @Test func anotherStatusHasItsBodyAndLeavesTheFile() async throws {
    let server = try ScriptedServer.answering("HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nmissing")
    defer { server.stop() }
    try await withFolder { folder in
      try await withClient { client in
        let (response, body) = try await client.download(get(port: server.port), to: folder + "/file", limit: 3)
        #expect(response.status == .notFound && body == Array("missing".utf8))
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345", HTTPClientError.Code.transfer),
    ("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n12345678901", .bodyTooLarge),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n12345678901\r\n0\r\n\r\n", .bodyTooLarge),
    ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n1", .bodyTooLarge),
  ])
  func aBodyThatIsNotWholeLeavesTheFile(_ answer: String, _ code: HTTPClientError.Code) async throws {
    let server = try ScriptedServer.answering(answer)
    defer { server.stop() }
    try await withFolder { folder in
      try "old".write(toFile: folder + "/file", atomically: true, encoding: .utf8)
      try await withClient { client in
        let error = await error {
          _ = try await client.download(get(port: server.port), to: folder + "/file", limit: 10)
        }
        #expect(error?.code == code)
      }
      #expect(try String(contentsOfFile: folder + "/file", encoding: .utf8) == "old")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["file"])
    }
  }

  @Test func aFolderThatIsNotThereIsNamedAndNothingIsAskedFor() async throws {
    let server = try ScriptedServer.answering("")
    defer { server.stop() }
    try await withClient { client in
      let error = await error {
        _ = try await client.download(get(port: server.port), to: "/nowhere/file", limit: 10)
      }
      #expect(error?.code == .file && error?.message.contains("/nowhere/file") == true)
    }
    #expect(server.accepted == 0)
  }

  @Test func aCancelledDownloadLeavesNothing() async throws {
    let server = try ScriptedServer { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
      connection.waitForHangUp()
    }
    defer { server.stop() }
    try await withFolder { folder in
      try await withClient { client in
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            let error = await error {
              _ = try await client.download(get(port: server.port), to: folder + "/file", limit: 10)
            }
            #expect(error?.code == .cancelled)
          }
          try await eventually("the request is there") { server.requests == 1 }
          group.cancelAll()
          try await group.waitForAll()
        }
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }
  }
}
