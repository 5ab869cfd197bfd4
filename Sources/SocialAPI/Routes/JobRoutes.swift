#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import DurableJobsAdmin
import Hummingbird

/// `jobs`: for operators. The admin token enqueues; the read-only token shows a job.
struct JobRoutes: Sendable {
  let admin: JobAdmin

  func add(to group: RouterGroup<APIContext>) {
    // One name for both a kind and an id: the router allows only one parameter name per position.
    group.on(.enqueueJob, use: enqueue)
    group.on(.readJob, use: show)
  }

  /// The holder of the admin token, which names no person.
  private static let actor = Operator(name: "api")

  private struct Wanted: Decodable {
    var payload: JSONValue
    var queue: String?
    /// ISO 8601.
    var runAt: String?
    var priority: String?
    var uniqueKey: String?
  }

  private struct Enqueued: Encodable { var id: String }

  /// Operators make a request repeatable with `uniqueKey`; an Idempotency-Key belongs to an account.
  @Sendable private func enqueue(_ request: Request, _ context: APIContext) async throws -> Answer {
    try context.requireAdmin()
    let wanted = try await RequestBody(request, context).decode(Wanted.self)
    let wish = JobRequest(
      kind: try context.parameter("name"), payload: Array(try JSONEncoder().encode(wanted.payload)),
      queue: wanted.queue, priority: try Self.priority(wanted.priority), runAt: try Self.date(wanted.runAt),
      uniqueKey: wanted.uniqueKey)
    do {
      return try Answer(.accepted, Enqueued(id: try await admin.enqueue(wish, by: Self.actor).id.description))
    } catch let error as OperationError {
      throw Problem(error, kindIsKnown: admin.kinds.knows(wish.kind))
    }
  }

  @Sendable private func show(_ request: Request, _ context: APIContext) async throws -> Answer {
    try context.requireOperator()
    do {
      return try Answer(.ok, try await admin.show(try context.parameter("name")))
    } catch let error as OperationError {
      throw Problem(error, kindIsKnown: true)
    }
  }

  private static func priority(_ name: String?) throws -> JobPriority {
    switch name {
    case nil, "normal": return .normal
    case "high": return .high
    case "low": return .low
    default:
      throw Problem(
        .unprocessableContent, "invalid_priority", "priority must be high, normal or low", field: "priority")
    }
  }

  private static func date(_ text: String?) throws -> Date? {
    guard let text else { return nil }
    for style in [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)] {
      do { return try style.parse(text) } catch { continue }
    }
    throw Problem(
      .unprocessableContent, "invalid_runAt", "runAt must be a time such as 2026-01-31T12:00:00Z", field: "runAt")
  }
}

extension Problem {
  fileprivate init(_ error: OperationError, kindIsKnown: Bool) {
    switch error.code {
    case .usage where !kindIsKnown: self.init(.unprocessableContent, "unknown_kind", error.message)
    case .usage: self.init(.unprocessableContent, "invalid_request", error.message)
    case .data: self.init(.unprocessableContent, "invalid_payload", error.message, field: "payload")
    case .notFound: self.init(.notFound, "not_found", error.message)
    case .conflict: self.init(.conflict, "already_pending", error.message)
    default: self.init(.internalServerError, "internal", "internal error; the server's log has the reason")
    }
  }
}
