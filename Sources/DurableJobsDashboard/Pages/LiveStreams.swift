import DurableJobsAdmin
import Foundation
import HTTPTypes
import Hummingbird
import Locking
import Logging
import ServiceLifecycle

/// Server-sent events for pages that update themselves, up to a limit of open streams.
final class LiveStreams: Sendable {
  /// Each stream holds a connection and reads every two seconds.
  static let limit = 64
  static let interval = Duration.seconds(2)

  private struct State {
    var open = 0
    var kept: [String: (text: String, at: Date)] = [:]
  }

  private let state = Locked(State())
  private let clock: any Clock<Duration>
  private let patience: WriteTimeout

  /// - Parameter patience: the write timeout for a browser that does not read.
  init(clock: any Clock<Duration>, patience: Duration = .seconds(20)) {
    self.clock = clock
    self.patience = WriteTimeout(patience, clock: clock)
  }

  /// The number of open streams.
  var open: Int { state.withLock { $0.open } }

  func kept(_ name: String, at now: Date) -> String? {
    state.withLock { state in
      state.kept[name].flatMap { abs(now.timeIntervalSince($0.at)) < 1 ? $0.text : nil }
    }
  }

  func keep(_ text: String, as name: String, at now: Date) {
    state.withLock { $0.kept[name] = (text, now) }
  }

  /// Streams a page's parts.
  ///
  /// - Parameter next: returns the current parts; nil ends the stream.
  /// - Throws: `DashboardRefusal` of status 503 if too many streams are open.
  func open(
    _ context: any RequestContext, _ next: @escaping @Sendable () async throws -> String?
  ) throws -> Response {
    guard state.withLock({ $0.open < Self.limit }) else {
      throw DashboardRefusal(
        .serviceUnavailable, "Too many live views are open", "Reload the page instead.", retryAfter: 10)
    }
    return Response(
      status: .ok, headers: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store"],
      body: ResponseBody { writer in
        self.state.withLock { $0.open += 1 }
        defer { self.state.withLock { $0.open -= 1 } }
        try await self.send(to: &writer, context, next)
        try await writer.finish(nil)
      })
  }

  private func send(
    to writer: inout any ResponseBodyWriter, _ context: any RequestContext,
    _ next: @escaping @Sendable () async throws -> String?
  ) async throws {
    try await writer.write(ByteBuffer(string: "retry: 3000\n\n"))
    while true {
      do {
        guard let text = try await next() else { return }
        try await patience.wait {
          try await writer.write(ByteBuffer(string: Self.event("page", text)))
        } orElse: {
          (context as? any HangUpRequestContext)?.hangUp()
        }
      } catch let refusal where DashboardRefusal(refusal) != nil {
        // A server is unavailable for a while: the page keeps its content and waits for the next update.
        context.logger.debug("no live update", metadata: ["error": "\(refusal)"])
        try await writer.write(ByteBuffer(string: ": away\n\n"))
      }
      // A shutdown does not wait for viewers.
      do {
        try await cancelWhenGracefulShutdown { [clock] in try await clock.sleep(for: Self.interval) }
      } catch is CancellationError {
        return
      }
    }
  }

  /// Formats one event; each line of its data becomes a data line.
  static func event(_ name: String, _ data: String) -> String {
    let lines = data.split(separator: "\n", omittingEmptySubsequences: false).map { "data: \($0)\n" }
    return "event: \(name)\n" + lines.joined() + "\n"
  }
}
