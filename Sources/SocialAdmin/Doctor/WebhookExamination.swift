import DurableJobsAdmin
import LibPQClient

/// The doctor's check of webhooks: hooks that stopped, hooks that fail, and whether their secrets can be opened.
public struct WebhookExamination: Examination {
  private let hasKey: Bool

  /// - Parameter hasKey: whether `FANMILL_CERTIFICATE_KEY` is set.
  public init(hasKey: Bool) { self.hasKey = hasKey }

  public func run(in transaction: PostgresTransaction) async throws -> [Finding] {
    let exists = try await transaction.query("SELECT to_regclass('webhooks') IS NOT NULL")[0].decode(Bool.self)
    if !exists { return [] }
    let hooks = try await transaction.query(
      """
      SELECT id, state, coalesce(reason, ''), failures, coalesce(failing_since < now() - interval '1 hour', false)
      FROM webhooks ORDER BY id LIMIT 100
      """
    ).decode(Int.self, String.self, String.self, Int32.self, Bool.self)
    if hooks.isEmpty { return [] }
    guard hasKey else {
      return [
        .fail(
          "webhooks", "FANMILL_CERTIFICATE_KEY is not set, so no webhook can be signed",
          "set it for the workers, as it was when the webhooks were added")
      ]
    }
    var findings: [Finding] = []
    for (id, state, reason, failures, isFailingForLong) in hooks {
      if state != "active" {
        findings.append(
          .warn("webhook \(id)", "\(state): \(reason)", "once its receiver is fixed: `fanmill webhooks resume \(id)`"))
      } else if isFailingForLong {
        findings.append(
          .warn(
            "webhook \(id)", "has failed \(failures) times since its last delivery",
            "`fanmill webhooks deliveries \(id)` shows the receiver's answers"))
      }
    }
    return findings.isEmpty ? [.ok("webhooks", "\(hooks.count) deliver")] : findings
  }
}
