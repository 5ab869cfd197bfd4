import Logging

/// Middleware grouped by hook, so that it costs nothing at hooks that it does not implement.
struct MiddlewareChain: Sendable {
  private let all: [any JobMiddleware]
  private let enqueuing: [any JobMiddleware]
  private let running: [any JobMiddleware]
  private let hearing: [any JobMiddleware]

  static let none = MiddlewareChain([])

  /// - Parameter all: the outermost first.
  init(_ all: [any JobMiddleware]) {
    self.all = all
    enqueuing = all.filter { $0.hooks.contains(.enqueue) }
    running = all.filter { $0.hooks.contains(.run) }
    hearing = all.filter { $0.hooks.contains(.ended) }
  }

  func serving(_ kind: JobKind, in queue: QueueName, isHome: Bool) -> MiddlewareChain {
    MiddlewareChain(all.map { $0.serving(kind, in: queue, isHome: isHome) })
  }

  /// - Parameter check: checks each job after the middleware.
  func enqueue(
    _ jobs: [JobRecord], checking check: (JobRecord) throws -> Void, _ body: ([JobRecord]) async throws -> [JobID]
  ) async throws -> [JobID] {
    if enqueuing.isEmpty { return try await body(jobs) }
    return try await enqueue(jobs, enqueuing[...]) { jobs in
      for job in jobs { try check(job) }
      return jobs.isEmpty ? [] : try await body(jobs)
    }
  }

  private func enqueue(
    _ jobs: [JobRecord], _ rest: ArraySlice<any JobMiddleware>, _ body: ([JobRecord]) async throws -> [JobID]
  ) async throws -> [JobID] {
    guard let first = rest.first else { return try await body(jobs) }
    return try await first.enqueue(jobs) { try await enqueue($0, rest.dropFirst(), body) }
  }

  var hasRun: Bool { !running.isEmpty }

  func run(_ attempt: JobAttempt, _ body: () async throws -> Void) async throws {
    try await run(attempt, running[...], body)
  }

  private func run(
    _ attempt: JobAttempt, _ rest: ArraySlice<any JobMiddleware>, _ body: () async throws -> Void
  ) async throws {
    guard let first = rest.first else { return try await body() }
    try await first.run(attempt) { try await run(attempt, rest.dropFirst(), body) }
  }

  var isHearing: Bool { !hearing.isEmpty }

  func ended(_ end: AttemptEnd, logger: Logger) {
    for middleware in hearing { middleware.ended(end, logger: logger) }
  }
}

/// The common context of a client's enqueues.
struct Enqueuing: Sendable {
  let middleware: MiddlewareChain
  /// Delays count from its time.
  let clock: any WallClock

  static let plain = Enqueuing(middleware: .none, clock: .system)
}
