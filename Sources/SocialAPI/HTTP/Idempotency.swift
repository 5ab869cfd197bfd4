import Cryptography
import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import HTTPTypes
import Hummingbird
import Social

/// The API's job client.
public typealias AppJobs = JobClient<RedisBroker, PostgresLedger>

extension AppJobs {
  /// Runs a POST in one transaction. With an `Idempotency-Key` it runs once: the key and its response commit with the
  /// rest, and a repeated request gets the stored response.
  func once(
    _ request: Request, _ body: RequestBody, by account: Int,
    _ act: @Sendable (AppTransaction) async throws -> Answer
  ) async throws -> Answer {
    try await once(request, saying: body.bytes, by: account, act)
  }

  /// Overload for bodies that must not enter the fingerprint whole.
  ///
  /// - Parameter account: 0 for a request without one.
  func once(
    _ request: Request, saying said: [UInt8], by account: Int, _ act: @Sendable (AppTransaction) async throws -> Answer
  ) async throws -> Answer {
    guard let key = try request.idempotencyKey(saying: said, by: account) else { return try await transaction(act) }
    return try await transaction { transaction in
      if case .answered(let status, let body) = try await IdempotencyKeys.claim(key, in: transaction.sql) {
        return Answer(status: HTTPResponse.Status(code: status), body: body)
      }
      let answer = try await act(transaction)
      try await IdempotencyKeys.record([(key, answer.status.code, answer.body)], in: transaction.sql)
      return answer
    }
  }

  /// Overload for requests that share a transaction. Each succeeds or is refused separately; the key of a refused
  /// request can be reused.
  ///
  /// - Parameter act: performs the requests, and returns their responses in the same order.
  func once<Asked: Sendable>(
    _ requests: [(key: IdempotencyKeys.Request?, asked: Asked)],
    _ act: @Sendable ([Asked], AppTransaction) async throws -> [Result<Answer, SocialError>]
  ) async throws -> [Result<Answer, SocialError>] {
    try await transaction { transaction in
      var answers = [Result<Answer, SocialError>?](repeating: nil, count: requests.count)
      var left = Array(requests.indices)
      // A key that occurs twice in the batch waits for another round, which finds the first one's response.
      while !left.isEmpty {
        var keys: Set<IdempotencyKeys.ID> = []
        let round = left.filter { index in requests[index].key.map { keys.insert($0.id).inserted } ?? true }
        left.removeAll(where: Set(round).contains)
        var first = round.filter { requests[$0].key == nil }
        let keyed = round.filter { requests[$0].key != nil }
        if !keyed.isEmpty {
          let claims = try await IdempotencyKeys.claim(keyed.compactMap { requests[$0].key }, in: transaction.sql)
          for (index, claim) in zip(keyed, claims) {
            switch claim {
            case .success(.first): first.append(index)
            case .success(.answered(let status, let body)):
              answers[index] = .success(Answer(status: HTTPResponse.Status(code: status), body: body))
            case .failure(let refusal): answers[index] = .failure(refusal)
            }
          }
        }
        if first.isEmpty { continue }
        var kept: [(request: IdempotencyKeys.Request, status: Int, body: [UInt8])] = []
        var refused: [IdempotencyKeys.Request] = []
        for (index, answer) in zip(first, try await act(first.map { requests[$0].asked }, transaction)) {
          answers[index] = answer
          guard let key = requests[index].key else { continue }
          switch answer {
          case .success(let answer): kept.append((key, answer.status.code, answer.body))
          case .failure: refused.append(key)
          }
        }
        try await IdempotencyKeys.record(kept, in: transaction.sql)
        try await IdempotencyKeys.release(refused, in: transaction.sql)
      }
      return answers.compactMap { $0 }
    }
  }
}

extension Request {
  /// The `Idempotency-Key` with the request's fingerprint; nil if the request has none.
  ///
  /// - Throws: `invalid_Idempotency-Key`.
  func idempotencyKey(saying said: [UInt8], by account: Int) throws(SocialError) -> IdempotencyKeys.Request? {
    guard let key = try idempotencyKey else { return nil }
    return try IdempotencyKeys.Request(key, account: account, hash: fingerprint(said))
  }

  /// The `Idempotency-Key`; nil if the request has none.
  ///
  /// - Throws: `invalid_Idempotency-Key`.
  var idempotencyKey: String? {
    get throws(SocialError) {
      guard let key = headers[.idempotencyKey] else { return nil }
      try IdempotencyKeys.check(key)
      return key
    }
  }

  /// The request's fingerprint: a hash of method, path and body.
  func fingerprint(_ said: [UInt8]) -> [UInt8] {
    SHA256.hash(of: Array("\(method.rawValue) \(uri.path)\n".utf8) + said)
  }
}
