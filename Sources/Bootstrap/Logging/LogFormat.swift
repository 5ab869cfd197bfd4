/// The one-line format of log events.
public enum LogFormat: String, Sendable, CaseIterable {
  /// For people: `2026-01-02T03:04:05.678Z info worker: message key=value`.
  case text
  /// For machines: one JSON object with `time`, `level`, `logger`, `message` and the metadata.
  case json
}
