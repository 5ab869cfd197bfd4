import DurableJobsAdmin
import Hummingbird
import Locking

/// A request's admission: calls the app's closure once per request, and again only while a stream continues.
final class Admission: Sendable {
  /// The result of the closure.
  enum Outcome: Sendable {
    case visitor(Visitor)
    case answer(Response)
  }

  private let ask: @Sendable () async throws -> DashboardAccess
  private let cookies: CookieMemory
  private let kept = Locked<Outcome?>(nil)

  init(cookies: CookieMemory, ask: @escaping @Sendable () async throws -> DashboardAccess) {
    self.cookies = cookies
    self.ask = ask
  }

  /// - Throws: what the closure throws, and a refusal of status 403 for `refused`.
  func outcome() async throws -> Outcome {
    if let outcome = kept.withLock({ $0 }) { return outcome }
    let outcome: Outcome
    do {
      switch try await ask().decision {
      case .visitor(let actor, let session):
        outcome = .visitor(Visitor(actor, session.map { .session($0) } ?? .cookies(cookies)))
      case .answer(let response): outcome = .answer(response)
      case .refused:
        throw DashboardRefusal(.forbidden, "No access", "Ask an administrator of this service for a role.")
      }
    } catch var refusal as DashboardRefusal {
      // After a 403, a link back would only lead to another 403.
      refusal.leadsBack = refusal.status != .forbidden
      throw refusal
    }
    kept.withLock { $0 = outcome }
    return outcome
  }

  /// Whether the visitor would be admitted now, in the same role.
  func isOpen(to visitor: Operator) async throws -> Bool {
    if case .visitor(let actor, _) = try await ask().decision { return actor.role == visitor.role }
    return false
  }
}
