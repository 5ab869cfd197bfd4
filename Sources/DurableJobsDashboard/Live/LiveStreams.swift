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

  private let count = Locked(0)
  private let clock: any Clock<Duration>
  private let patience: WriteTimeout

  /// - Parameter patience: the write timeout for a browser that does not read.
  init(clock: any Clock<Duration>, patience: Duration = .seconds(20)) {
    self.clock = clock
    self.patience = WriteTimeout(patience, clock: clock)
  }

  /// The number of open streams.
  var open: Int { count.withLock { $0 } }

  /// Streams a page, whenever it has changed.
  ///
  /// - Parameter next: returns the page as it is now; nil ends the stream.
  /// - Throws: `DashboardRefusal` of status 503 if too many streams are open.
  func open(
    _ context: any RequestContext, _ next: @escaping @Sendable () async throws -> String?
  ) throws -> Response {
    guard open < Self.limit else {
      throw DashboardRefusal(
        .serviceUnavailable, "Too many live views are open", "Reload the page instead.", retryAfter: 10)
    }
    return Response(
      status: .ok, headers: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store"],
      body: ResponseBody { writer in
        self.count.withLock { $0 += 1 }
        defer { self.count.withLock { $0 -= 1 } }
        try await self.send(to: &writer, context, next)
        try await writer.finish(nil)
      })
  }

  private func send(
    to writer: inout any ResponseBodyWriter, _ context: any RequestContext,
    _ next: @escaping @Sendable () async throws -> String?
  ) async throws {
    try await writer.write(ByteBuffer(string: "retry: 3000\n\n"))
    var sent: String?
    while true {
      do {
        guard let text = try await next() else { return }
        try await patience.wait {
          // A comment shows both ends that the other is there.
          try await writer.write(ByteBuffer(string: text == sent ? ": same\n\n" : Self.event("page", text)))
        } orElse: {
          (context as? any HangUpRequestContext)?.hangUp()
        }
        sent = text
      } catch {
        guard let refusal = DashboardRefusal(error) else { throw error }
        // The visitor may no longer see the page, or it is gone. The browser asks again and is told so.
        guard refusal.status.kind == .serverError else { return }
        // A server is unavailable for a while: the page keeps its content and waits for the next update.
        context.logger.debug("no live update", metadata: ["error": "\(error)"])
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
