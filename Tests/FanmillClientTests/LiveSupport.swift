import Foundation
import Testing

@testable import FanmillClient

/// A running stack for the live tests, named by `FANMILL_TEST_URL`. It needs `FANMILL_LIMITS=off` and a certificate key.
/// A run opens about 30 accounts; a stack allows a network address 100 in a quarter of an hour.
enum LiveStack {
  static let url = ProcessInfo.processInfo.environment["FANMILL_TEST_URL"].flatMap { URL(string: $0) }
  /// The folder of `FANMILL_MAIL_URL=file:`, for the tests that read mail.
  static let mail = ProcessInfo.processInfo.environment["FANMILL_TEST_MAIL"]

  static func client() throws -> FanmillClient {
    FanmillClient(url: try #require(url), userAgent: "FanmillClientTests")
  }

  static func name(_ stem: String) -> String {
    stem + "-" + UUID().uuidString.lowercased().prefix(10)
  }

  static let password = "a password of the tests"

  /// Opens an account under a new name.
  static func account(_ stem: String, adult: Bool? = nil) async throws -> (client: FanmillClient, name: String) {
    let name = name(stem)
    let client = try await client().signUp(
      Registration(
        username: name, email: "\(name)@example.org", password: password, name: stem, major: "Painting", adult: adult))
    try #require(client.session != nil)
    return (client, name)
  }

  /// Waits for what workers do.
  static func eventually<Value>(
    _ what: String, _ read: () async throws -> Value?
  ) async throws -> Value {
    for _ in 1...200 {
      if let value = try await read() { return value }
      try await Task.sleep(for: .milliseconds(100))
    }
    throw Missing(what: what)
  }

  struct Missing: Error { var what: String }

  /// The token in the latest mail to an address.
  static func token(mailedTo address: String) async throws -> String {
    let folder = try #require(mail)
    return try await eventually("a mail to \(address)") {
      for file in try FileManager.default.contentsOfDirectory(atPath: folder) {
        let text = try String(contentsOfFile: folder + "/" + file, encoding: .utf8)
        guard text.contains(address) else { continue }
        let joined = text.replacing("=\r\n", with: "").replacing("=\n", with: "").replacing("=3D", with: "=")
        let words = joined.split { !($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
        if let token = words.first(where: { $0.utf8.count == 43 }) { return String(token) }
      }
      return nil
    }
  }
}

/// A picture in the form of PNG, without compression.
enum TestPicture {
  static func png(width: Int, height: Int, seed: UInt64 = 1) -> Data {
    var state = seed | 1
    var rows: [UInt8] = []
    rows.reserveCapacity(height * (width * 3 + 1))
    for _ in 0..<height {
      rows.append(0)
      for _ in 0..<(width * 3) {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        rows.append(UInt8(truncatingIfNeeded: state >> 56))
      }
    }
    var png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
    png += chunk("IHDR", big(UInt32(width)) + big(UInt32(height)) + [8, 2, 0, 0, 0])
    png += chunk("IDAT", stored(rows))
    return png + chunk("IEND", [])
  }

  private static func big(_ value: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
  }

  private static func chunk(_ type: String, _ content: [UInt8]) -> Data {
    let body = Array(type.utf8) + content
    return Data(big(UInt32(content.count)) + body + big(crc(body)))
  }

  /// Zlib with stored blocks (RFC 1950, RFC 1951).
  private static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = [0x78, 0x01]
    var start = 0
    repeat {
      let end = min(start + 65_535, bytes.count)
      let count = UInt16(end - start)
      result.append(end == bytes.count ? 1 : 0)
      result += [UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8)]
      result += bytes[start..<end]
      start = end
    } while start < bytes.count
    var (a, b) = (UInt32(1), UInt32(0))
    for byte in bytes { (a, b) = ((a + UInt32(byte)) % 65_521, (b + (a + UInt32(byte)) % 65_521) % 65_521) }
    return result + big(b << 16 | a)
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
  }

  private static func crc(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~UInt32(0)) { table[Int(($0 ^ UInt32($1)) & 255)] ^ ($0 >> 8) }
  }
}
