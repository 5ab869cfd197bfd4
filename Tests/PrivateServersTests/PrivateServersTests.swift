import Foundation
import Glibc
import PrivateServers
import Testing

@Suite struct FreePortTests {
  /// A port's owner listens on it only seconds later: until then it must not be given out again.
  @Test func noTwoGetTheSamePort() throws {
    let ports = try (0..<500).map { _ in try FreePort.find() }
    #expect(Set(ports).count == 500)
  }
}

@Suite struct PrivatePostgresTests {
  @Test func keepsItsDataOverEveryKindOfStop() async throws {
    let server = try await PrivatePostgres.start(options: .tests)
    try await server.run("CREATE TABLE kept (n int)")
    try await server.run("INSERT INTO kept VALUES (1)")
    try await server.restart()
    try await server.run("INSERT INTO kept VALUES (2)")
    await server.stopImmediate()
    try await server.start()
    try await server.run("INSERT INTO kept VALUES (3)")
    await server.kill9()
    try await server.start()
    #expect(try await server.run("SELECT sum(n) FROM kept") == "6")
    await server.stop()
  }

  @Test func listensOnAFreePortIfAsked() async throws {
    var options = PrivatePostgres.Options.tests
    options.port = 0
    let server = try await PrivatePostgres.start(options: options)
    let port = try #require(server.port)
    #expect(port > 0)
    #expect(server.tcpURL(database: "x") == "postgresql://postgres@127.0.0.1:\(port)/x")
    await server.stop()
  }

  @Test func takesAGivenFolderAsRootToo() async throws {
    // A folder that only its owner may enter, with a long name.
    let folder = "/tmp/" + String(repeating: "long-", count: 20) + "\(getpid())"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { unlinkTree(folder) }
    let server = try await PrivatePostgres.start(in: folder, options: .tests)
    #expect(server.socketFolder.utf8.count < 100)
    try await server.run("CREATE TABLE kept (n int)")
    await server.stop()
    let again = try await PrivatePostgres.start(in: folder, options: .tests)
    #expect(try await again.run("SELECT count(*) FROM kept") == "0")
    await again.stop()
    unlinkTree(again.log.replacing("/postgres.log", with: ""))
  }

  @Test func aWrongSettingIsToldWithTheServersOwnWords() async throws {
    let error = await #expect(throws: PrivateServerError.self) {
      _ = try await PrivatePostgres.start(options: PrivatePostgres.Options(settings: ["shared_buffers": "many"]))
    }
    #expect(error?.code == .failed)
    #expect(error?.message.contains("shared_buffers") == true)
  }

  @Test func freshDatabasesAreApart() async throws {
    async let first = SharedServers.freshDatabase()
    async let second = SharedServers.freshDatabase()
    #expect(try await first != second)
    let template = try await SharedServers.template("filled") { _ in }
    #expect(try await SharedServers.freshDatabase(template: template).contains("postgresql://postgres@/test_"))
  }

  private func unlinkTree(_ path: String) {
    do { try FileManager.default.removeItem(atPath: path) } catch {}
  }
}

@Suite struct PrivateRedisTests {
  @Test func keepsItsAppendOnlyFileOverARestart() async throws {
    var options = PrivateRedis.Options()
    options.appendOnly = true
    options.maxMemory = "64mb"
    options.port = 0
    let server = try await PrivateRedis.start(options: options)
    #expect(server.url.hasPrefix("unix:///tmp/"))
    #expect(server.tcpURL == "redis://127.0.0.1:\(try #require(server.port))")
    #expect(try ask(server.socket, "SET a 1") == "+OK\r\n")
    try await server.restart()
    #expect(try ask(server.socket, "GET a") == "$1\r\n1\r\n")
    await server.kill9()
    #expect(throws: (any Error).self) { try ask(server.socket, "PING") }
    try await server.start()
    #expect(try ask(server.socket, "PING") == "+PONG\r\n")
    await server.stop()
  }

  /// As docs/servers.md requires of every Redis: the tests use the settings that users are asked to run.
  @Test func keepsItsStreamsInSmallNodes() async throws {
    let server = try await PrivateRedis.start()
    let answer = try ask(server.socket, "CONFIG GET stream-node-max-entries")
    #expect(answer.hasSuffix("\r\n16\r\n"), "\(answer)")
    await server.stop()
  }

  private struct Unreachable: Error {}

  private func ask(_ path: String, _ command: String) throws -> String {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard connected else { throw Unreachable() }
    let text = command + "\r\n"
    write(descriptor, text, text.utf8.count)
    var reply = [UInt8](repeating: 0, count: 256)
    let count = read(descriptor, &reply, reply.count)
    return String(decoding: reply.prefix(max(0, count)), as: UTF8.self)
  }
}
