import Metrics

/// Counts calls by outcome, and disabled keys.
struct YouTubeMetrics: Sendable {
  let answered = Self.calls("answered")
  let notModified = Self.calls("not_modified")
  let refused = Self.calls("refused")
  let failed = Self.calls("failed")
  let disabledKeys = Counter(label: "fanmill_youtube_keys_disabled_total")

  private static func calls(_ outcome: String) -> Counter {
    Counter(label: "fanmill_youtube_calls_total", dimensions: [("outcome", outcome)])
  }
}
