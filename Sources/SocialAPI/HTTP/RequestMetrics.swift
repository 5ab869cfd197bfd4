import HTTPTypes
import Hummingbird
import Locking
import Metrics

/// Counts requests and measures response times by route, never by path, so that clients cannot create new series.
public struct RequestMetrics<Context: RequestContext>: RouterMiddleware {
  private let handles = RequestMetricHandles()

  public init() {}

  public func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let begun = ContinuousClock.now
    handles.inFlight.increment()
    defer { handles.inFlight.decrement() }
    do {
      let response = try await next(request, context)
      note(request, context, response.status, since: begun)
      return response
    } catch {
      note(request, context, (error as? any HTTPResponseError)?.status ?? .internalServerError, since: begun)
      throw error
    }
  }

  private func note(
    _ request: Request, _ context: Context, _ status: HTTPResponse.Status, since begun: ContinuousClock.Instant
  ) {
    let route = RequestMetricHandles.Route(path: context.endpointPath ?? "", method: request.method)
    handles.note(route, status: status.code, seconds: begun.duration(to: .now) / .seconds(1))
  }
}

/// The metric handles, made once per route, method and status class.
final class RequestMetricHandles: Sendable {
  struct Route: Hashable {
    /// The template, such as `/v1/posts/{id}`.
    let path: String
    let method: String

    /// - Parameter path: the router's template; a request without one counts as `not_found`.
    init(path: String, method: HTTPRequest.Method) {
      self.path = path.isEmpty || path == "NotFound" ? "not_found" : path
      // Clients may send any word as a method.
      self.method = Self.methods.contains(method) ? method.rawValue : "other"
    }

    private static let methods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]

    var dimensions: [(String, String)] { [("route", path), ("method", method)] }
  }

  private struct Outcome: Hashable {
    let route: Route
    let status: Int
  }

  private struct Handles {
    var counters: [Outcome: Counter] = [:]
    var timers: [Route: Timer] = [:]
  }

  let inFlight = Meter(label: "fanmill_http_requests_in_flight")
  private let handles = Locked(Handles())

  func note(_ route: Route, status: Int, seconds: Double) {
    let outcome = Outcome(route: route, status: status / 100)
    let (counter, timer) = handles.withLock { handles in
      let counter =
        handles.counters[outcome]
        ?? Counter(
          label: "fanmill_http_requests_total", dimensions: route.dimensions + [("status", "\(outcome.status)xx")])
      let timer = handles.timers[route] ?? Timer(label: "fanmill_http_request_seconds", dimensions: route.dimensions)
      handles.counters[outcome] = counter
      handles.timers[route] = timer
      return (counter, timer)
    }
    counter.increment()
    timer.recordNanoseconds(Int64(seconds * 1_000_000_000))
  }
}
