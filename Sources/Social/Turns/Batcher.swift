import Locking
import Reactor

/// Answers concurrent requests together: requests that arrive while all batches are in progress form the next one, and
/// clients take turns.
///
/// A request that finds a free batch is served at once and alone, so batching adds no latency. Under load a batch holds
/// the requests that arrived meanwhile, which share the cost of its statements.
///
/// A batch may run until the latest of its requests' deadlines, so one request near its deadline does not make the
/// others fail.
public final class Batcher<Client: Hashable & Sendable, Request: Sendable, Answer: Sendable>: Sendable {
  private struct Waiting: Sendable {
    let request: Request
    let deadline: Deadline?
    let continuation: CheckedContinuation<Turn, any Error>
  }

  /// The reason that a waiting caller resumes.
  private enum Turn: Sendable {
    case answered(Answer)
    /// A batch is free: this caller serves its own request together with other waiting ones.
    case toServe
  }

  private let places: Locked<FairPlaces<Client, Waiting>>
  private let limit: Int
  private let areAlike: @Sendable (Request, Request) -> Bool
  private let serve: @Sendable ([Request]) async throws -> [Answer]

  /// - Parameters:
  ///   - width: how many batches run at once.
  ///   - limit: the most requests per batch.
  ///   - areAlike: whether one batch may hold both requests. A batch ends before the first request that is not like its
  ///     others.
  ///   - serve: answers a batch, in the order of its requests. An error thrown here is thrown to each caller.
  public init(
    width: Int = 1, upTo limit: Int, where areAlike: @escaping @Sendable (Request, Request) -> Bool = { _, _ in true },
    _ serve: @escaping @Sendable ([Request]) async throws -> [Answer]
  ) {
    precondition(width > 0 && limit > 0, "there is a batch, and it holds a request")
    places = Locked(FairPlaces(width))
    self.limit = limit
    self.areAlike = areAlike
    self.serve = serve
  }

  /// How many requests are waiting for a batch.
  var waiting: Int { places.withLock { $0.waiting } }

  /// Serves a request, alone or with others. A caller that is cancelled once a batch has its request still gets the
  /// answer, because the request may have taken effect.
  ///
  /// - Throws: the errors of serving; `CancellationError`, if the task is cancelled while the request waits.
  public func answer(_ request: Request, for client: Client) async throws -> Answer {
    switch try await turn(request, for: client) {
    case .answered(let answer): answer
    case .toServe: try await serveBatch(with: request)
    }
  }

  private func turn(_ request: Request, for client: Client) async throws -> Turn {
    if places.withLock({ $0.take() }) { return .toServe }
    let number = places.withLock { $0.nextNumber() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isFree = places.withLock { places in
          if places.take() { return true }
          let waiting = Waiting(request: request, deadline: Deadline.current, continuation: continuation)
          places.wait(waiting, number, for: client)
          return false
        }
        if isFree { continuation.resume(returning: .toServe) } else if Task.isCancelled { giveUp(number) }
      }
    } onCancel: {
      giveUp(number)
    }
  }

  private func giveUp(_ number: Int) {
    places.withLock { $0.giveUp(number) }?.continuation.resume(throwing: CancellationError())
  }

  private func serveBatch(with first: Request) async throws -> Answer {
    let others = places.withLock { places in
      var others: [Waiting] = []
      while others.count < limit - 1, let next = places.popFirst(where: { areAlike(first, $0.request) }) {
        others.append(next)
      }
      return others
    }
    let requests = [first] + others.map(\.request)
    let deadline = Deadline.latest(of: [Deadline.current] + others.map(\.deadline))
    // An unstructured task, awaited here, so that one caller's cancellation does not affect the others.
    let outcome = await Task { [serve] in
      try await Deadline.$current.withValue(deadline) { try await serve(requests) }
    }.result
    places.withLock { $0.leave() }?.continuation.resume(returning: .toServe)
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
}
