import CRawLimits
import Foundation
import Glibc

/// Requests to this machine over keep-alive connections, each of which sends its next request after a response.
/// It is written in C because the client shares the CPUs with the measured program.
struct HTTPLoad: Sendable {
  struct Outcome: Sendable {
    var perSecond: Double
    /// In milliseconds, one per request.
    var latencies: [Double]
  }

  struct Request: Sendable {
    var method = "GET"
    var path: String
    var token: String
  }

  let port: Int
  let connections: Int

  /// Sends one request per token, and checks the status of each response.
  func run(_ method: String, _ path: String, tokens: [String], expecting status: Int) async throws -> Outcome {
    try await run(tokens.map { Request(method: method, path: path, token: $0) }, expecting: status)
  }

  func run(_ requests: [Request], expecting status: Int) async throws -> Outcome {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try send(requests, status) }) }
    }
  }

  private func send(_ requests: [Request], _ status: Int) throws -> Outcome {
    let texts = requests.map { request in
      UnsafePointer(
        strdup(
          """
          \(request.method) \(request.path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(request.token)\r\n\
          Content-Length: 0\r\n\r\n
          """))
    }
    defer { for text in texts { free(UnsafeMutablePointer(mutating: text)) } }
    var nanoseconds = [Int64](repeating: 0, count: requests.count)
    var error = [CChar](repeating: 0, count: 512)
    let start = ContinuousClock.now
    let outcome = bench_requests(
      Int32(port), Int32(connections), texts, Int64(requests.count), Int32(status), &nanoseconds, &error, error.count)
    let seconds = start.duration(to: .now) / .seconds(1)
    guard outcome == 0 else {
      throw BenchError(String(decoding: error.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
    }
    return Outcome(
      perSecond: Double(requests.count) / seconds, latencies: nanoseconds.map { Double($0) / 1_000_000 })
  }
}
