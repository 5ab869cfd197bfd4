import Locking

/// Answers in one go what many ask for at once: what comes while one batch is under way is the next.
///
/// A request that finds nothing under way is served at once and alone, so waiting for company costs nobody time; under
/// load a batch holds as many as came meanwhile, and they share the cost of its transaction.
public final class Batcher<Request: Sendable, Answer: Sendable>: Sendable {
  private struct Waiting: Sendable {
    let request: Request
    let continuation: CheckedContinuation<Turn, any Error>
  }

  /// What a caller is woken with.
  private enum Turn: Sendable {
    case answered(Answer)
    /// Nobody serves any more: it is for this caller to serve its own request and all that wait.
    case toServe
  }

  private struct State: Sendable {
    var isServing = false
    /// First come, first served.
    var waiting: [Waiting] = []
  }

  private let state = Locked(State())
  private let limit: Int
  private let serve: @Sendable ([Request]) async throws -> [Answer]

  /// - Parameters:
  ///   - limit: how many requests a batch holds at most.
  ///   - serve: answers a batch, in the order of its requests. What it throws is thrown to each of them.
  public init(upTo limit: Int, _ serve: @escaping @Sendable ([Request]) async throws -> [Answer]) {
    precondition(limit > 0, "a batch holds a request")
    self.limit = limit
    self.serve = serve
  }

  /// How many wait for the batch under way to end.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Has a request served, alone or with others. A caller that is cancelled meanwhile still gets its answer: it may
  /// have taken effect.
  public func answer(_ request: Request) async throws -> Answer {
    let turn = try await withCheckedThrowingContinuation { continuation in
      let isFirst = state.withLock { state in
        if state.isServing {
          state.waiting.append(Waiting(request: request, continuation: continuation))
          return false
        }
        state.isServing = true
        return true
      }
      if isFirst { continuation.resume(returning: .toServe) }
    }
    switch turn {
    case .answered(let answer): return answer
    case .toServe: return try await serveAll(with: request)
    }
  }

  private func serveAll(with first: Request) async throws -> Answer {
    let others = state.withLock { state in
      let others = Array(state.waiting.prefix(limit - 1))
      state.waiting.removeFirst(others.count)
      return others
    }
    let requests = [first] + others.map(\.request)
    // A task of its own, awaited here: that one caller is cancelled is nothing to the others.
    let outcome = await Task { [serve] in try await serve(requests) }.result
    passTurn()
    switch outcome {
    case .success(let answers):
      precondition(answers.count == requests.count, "a batch has an answer for each request")
      for (waiting, answer) in zip(others, answers.dropFirst()) {
        waiting.continuation.resume(returning: .answered(answer))
      }
      return answers[0]
    case .failure(let error):
      for waiting in others { waiting.continuation.resume(throwing: error) }
      throw error
    }
  }

  private func passTurn() {
    let next = state.withLock { state -> Waiting? in
      if state.waiting.isEmpty {
        state.isServing = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.continuation.resume(returning: .toServe)
  }
}
