import Crypto
import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import HTTPTypes
import Hummingbird
import Social

/// How the API asks for jobs.
public typealias AppJobs = JobClient<RedisBroker, PostgresLedger>

extension AppJobs {
  /// Does what a POST asks for in one transaction; with an `Idempotency-Key`, once: the key and its answer commit with
  /// the rest, and the same request sent again gets that answer.
  func once(
    _ request: Request, _ body: RequestBody, by account: Int,
    _ act: @Sendable (AppTransaction) async throws -> Answer
  ) async throws -> Answer {
    try await once(request, saying: body.bytes, by: account, act)
  }

  /// The same for a body that must not be told from another by all it says.
  ///
  /// - Parameter account: 0 for a request without one.
  func once(
    _ request: Request, saying said: [UInt8], by account: Int, _ act: @Sendable (AppTransaction) async throws -> Answer
  ) async throws -> Answer {
    guard let key = request.headers[.idempotencyKey] else { return try await transaction(act) }
    let hash = request.fingerprint(said)
    return try await transaction { transaction in
      switch try await IdempotencyKeys.claim(key, account: account, requestHash: hash, in: transaction.sql) {
      case .answered(let status, let body): return Answer(status: HTTPResponse.Status(code: status), body: body)
      case .first:
        let answer = try await act(transaction)
        try await IdempotencyKeys.record(
          key, account: account, status: answer.status.code, body: answer.body, in: transaction.sql)
        return answer
      }
    }
  }
}

extension Request {
  /// Whether it may be sent again and is to be answered as it was the first time.
  var isRepeatable: Bool { headers[.idempotencyKey] != nil }

  /// What makes another request another: method, path, and what it says.
  func fingerprint(_ said: [UInt8]) -> [UInt8] {
    var hash = SHA256()
    hash.update(data: Array("\(method.rawValue) \(uri.path)\n".utf8))
    hash.update(data: said)
    return Array(hash.finalize())
  }
}

extension HTTPField.Name {
  static var idempotencyKey: Self {
    guard let name = Self("Idempotency-Key") else { preconditionFailure("a token by RFC 9110") }
    return name
  }
}
