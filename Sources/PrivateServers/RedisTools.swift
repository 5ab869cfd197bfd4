import CHiredis
import Foundation

/// Sends one command to a private server on a separate connection, for set-up before a client exists.
enum RedisTools {
  /// A server's local address.
  enum Target: Sendable {
    case socket(String)
    case port(Int)
  }

  /// How long to wait, in seconds: a suspended server never responds.
  private static let patience = 60

  /// Runs one command and returns its reply in redis-cli's format, one element per line.
  ///
  /// - Throws: `.failed` for an error reply, and for a server that is not running.
  static func run(
    _ target: Target, _ password: String?, _ words: [String]
  ) async throws(PrivateServerError) -> String {
    let result = await withCheckedContinuation { continuation in
      // hiredis blocks.
      DispatchQueue.global().async { continuation.resume(returning: ask(target, password, words)) }
    }
    return try result.get()
  }

  private static func ask(
    _ target: Target, _ password: String?, _ words: [String]
  ) -> Result<String, PrivateServerError> {
    func failure(_ reason: String) -> Result<String, PrivateServerError> {
      .failure(PrivateServerError(.failed, "\(words.joined(separator: " ")) failed: \(reason)"))
    }
    let limit = timeval(tv_sec: patience, tv_usec: 0)
    let made =
      switch target {
      case .socket(let path): redisConnectUnixWithTimeout(path, limit)
      case .port(let port): redisConnectWithTimeout("127.0.0.1", Int32(port), limit)
      }
    guard let connection = made else { return failure("out of memory") }
    defer { redisFree(connection) }
    guard connection.pointee.err == 0 else { return failure(errorText(connection)) }
    redisSetTimeout(connection, limit)
    if let password, case .failure(let error) = send(["AUTH", password], connection) { return failure(error.message) }
    return switch send(words, connection) {
    case .success(let text): .success(text)
    case .failure(let error): failure(error.message)
    }
  }

  private static func send(
    _ words: [String], _ connection: UnsafeMutablePointer<redisContext>
  ) -> Result<String, PrivateServerError> {
    let copies = words.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    var pointers = copies.map { UnsafePointer($0) }
    let lengths = words.map(\.utf8.count)
    guard let raw = redisCommandArgv(connection, Int32(words.count), &pointers, lengths) else {
      return .failure(PrivateServerError(.failed, errorText(connection)))
    }
    defer { freeReplyObject(raw) }
    let reply = raw.assumingMemoryBound(to: redisReply.self)
    if reply.pointee.type == REDIS_REPLY_ERROR { return .failure(PrivateServerError(.failed, text(reply))) }
    return .success(text(reply).trimmingCharacters(in: .newlines))
  }

  private static func text(_ reply: UnsafeMutablePointer<redisReply>) -> String {
    switch reply.pointee.type {
    case REDIS_REPLY_INTEGER: return String(reply.pointee.integer)
    case REDIS_REPLY_ARRAY:
      return (0..<Int(reply.pointee.elements)).map { index in
        reply.pointee.element[index].map { text($0) } ?? ""
      }.joined(separator: "\n")
    default:
      guard let start = reply.pointee.str else { return "" }
      return String(
        decoding: UnsafeRawBufferPointer(start: start, count: Int(reply.pointee.len)), as: UTF8.self)
    }
  }

  private static func errorText(_ connection: UnsafeMutablePointer<redisContext>) -> String {
    withUnsafeBytes(of: connection.pointee.errstr) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}
