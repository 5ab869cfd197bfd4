import Locking
import Reactor

/// Answers in one go what several ask for at once: what comes while all batches are under way is the next, and clients
/// take turns.
///
/// A request that finds a batch free is served at once and alone, so waiting for company costs nobody time; under load a
/// batch holds as many as came meanwhile, and they share the cost of its statements.
///
/// A batch may take as long as the latest of its requests' deadlines: one request that is nearly late does not make the
/// others fail.
public final class Batcher<Client: Hashable & Sendable, Request: Sendable, Answer: Sendable>: Sendable {
  private struct Waiting: Sendable {
    let request: Request
    let deadline: Deadline?
    let continuation: CheckedContinuation<Turn, any Error>
  }

  /// What a caller is woken with.
  private enum Turn: Sendable {
    case answered(Answer)
    /// A batch is free: it is for this caller to serve its own request and others that wait.
    case toServe
  }

  private let places: Locked<FairPlaces<Client, Waiting>>
  private let limit: Int
  private let areAlike: @Sendable (Request, Request) -> Bool
  private let serve: @Sendable ([Request]) async throws -> [Answer]

  /// - Parameters:
  ///   - width: how many batches are under way at once.
  ///   - limit: how many requests a batch holds at most.
  ///   - areAlike: whether one batch may hold both. A batch ends before the first request that is not like its others.
  ///   - serve: answers a batch, in the order of its requests. What it throws is thrown to each of them.
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

  /// How many wait for a batch.
  var waiting: Int { places.withLock { $0.waiting } }

  /// Has a request served, alone or with others. A caller that is cancelled once a batch has its request still gets the
  /// answer: the request may have taken effect.
  ///
  /// - Throws: what serving throws; `CancellationError`, if the task is cancelled while the request waits.
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
    // A task of its own, awaited here: that one caller is cancelled is nothing to the others.
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
