import LibPQClient
import TestSupport
import Testing

/// Holds back every statement that reads `table` until all of `requests` wait for it or for a batch, then lets them go.
///
/// - Parameter waiting: how many requests wait for a batch.
func together<Request: Sendable, Answer: Sendable>(
  _ app: App, _ requests: [Request], reading table: String = "accounts", waiting: @escaping @Sendable () -> Int,
  _ answer: @escaping @Sendable (Request) async throws -> Answer
) async throws -> [Result<Answer, any Error>] {
  try await withThrowingTaskGroup(of: (Int, Result<Answer, any Error>).self) { group in
    try await app.pool.transaction { transaction in
      try await transaction.execute("LOCK TABLE \(unescaped: table) IN ACCESS EXCLUSIVE MODE")
      for (place, request) in requests.enumerated() {
        group.addTask {
          do {
            return (place, .success(try await answer(request)))
          } catch {
            return (place, .failure(error))
          }
        }
        if place == 0 {
          try await eventually("the first has begun") {
            try await transaction.query(
              "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = \(table)::regclass"
            ).decode(Bool.self) == [true]
          }
        } else {
          try await eventually("it waits") { waiting() == place }
        }
      }
    }
    var answers: [Int: Result<Answer, any Error>] = [:]
    for try await (place, answer) in group { answers[place] = answer }
    return requests.indices.compactMap { answers[$0] }
  }
}
