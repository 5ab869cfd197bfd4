import Foundation
import Glibc

/// Requests to this machine over connections that stay open, each connection with a thread of its own that sends a
/// request and reads its answer, by blocking calls.
struct HTTPLoad: Sendable {
  struct Outcome: Sendable {
    var perSecond: Double
    /// Milliseconds, one a request.
    var latencies: [Double]
  }

  struct Request: Sendable {
    var method = "GET"
    var path: String
    var token: String
  }

  let port: Int
  let connections: Int

  /// Sends one request for each token, and checks the status of each answer.
  func run(_ method: String, _ path: String, tokens: [String], expecting status: Int) async throws -> Outcome {
    try await run(tokens.map { Request(method: method, path: path, token: $0) }, expecting: status)
  }

  func run(_ requests: [Request], expecting status: Int) async throws -> Outcome {
    let start = ContinuousClock.now
    let latencies = try await withThrowingTaskGroup(of: [Double].self) { group in
      for lane in 0..<connections {
        let mine = stride(from: lane, to: requests.count, by: connections).map { requests[$0] }
        group.addTask {
          try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try send(mine, status) }) }
          }
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    return Outcome(
      perSecond: Double(requests.count) / (start.duration(to: .now) / .seconds(1)), latencies: latencies)
  }

  private func send(_ requests: [Request], _ status: Int) throws -> [Double] {
    let descriptor = try HTTPCall.open(port: port)
    defer { close(descriptor) }
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    var piece = [UInt8](repeating: 0, count: 65_536)
    var latencies: [Double] = []
    for request in requests {
      let head = Array(
        """
        \(request.method) \(request.path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(request.token)\r\n\
        Content-Length: 0\r\n\r\n
        """.utf8)
      let start = ContinuousClock.now
      guard write(descriptor, head, head.count) == head.count else {
        throw BenchError("\(request.path): cannot be sent")
      }
      var answer: [UInt8] = []
      repeat {
        let count = read(descriptor, &piece, piece.count)
        guard count > 0 else { throw BenchError("\(request.path): no whole answer") }
        answer += piece[..<count]
      } while !Self.isWhole(answer)
      latencies.append(start.duration(to: .now) / .milliseconds(1))
      let words = answer.prefix(16).split(separator: UInt8(ascii: " "))
      guard words.count > 1, Int(String(decoding: words[1], as: UTF8.self)) == status else {
        throw BenchError("\(request.path) was answered: \(String(decoding: answer, as: UTF8.self))")
      }
    }
    return latencies
  }

  /// Whether the head and as many bytes as it announces are there.
  private static func isWhole(_ answer: [UInt8]) -> Bool {
    guard let end = answer.firstRange(of: "\r\n\r\n".utf8) else { return false }
    let head = String(decoding: answer[..<end.lowerBound], as: UTF8.self).lowercased()
    guard let field = head.range(of: "content-length:") else { return true }
    let digits = head[field.upperBound...].drop { $0 == " " }.prefix { $0.isNumber }
    return answer.count - end.upperBound >= (Int(digits) ?? 0)
  }
}
