import Metrics

/// Counts attempts to deliver events, by what followed.
struct WebhookMetrics: Sendable {
  static let shared = WebhookMetrics()

  private let counters: [String: Counter]

  private init() {
    let outcomes = ["delivered", "retry", "failed", "paused", "disabled", "stopped", "replaced"]
    counters = Dictionary(
      uniqueKeysWithValues: outcomes.map { outcome in
        (outcome, Counter(label: "fanmill_webhook_attempts_total", dimensions: [("outcome", outcome)]))
      })
  }

  func count(_ outcome: String) { counters[outcome]?.increment() }
}
