/// Recognizes values from `.env.example`, `secret.yaml.example` and this program's help. They are public, so as secrets
/// they protect nothing.
enum ExampleValue {
  /// The text that every secret in the example files contains.
  static let mark = "change-me"

  /// The values of earlier example files, copies of which are still in use.
  private static let earlier: Set<String> = [
    "who has it may look at the dashboard and change nothing",
    "who has it may read the dashboard, jobs and the autoscaling signal, and change nothing",
    "32 characters or more, with which fans' certificates are signed",
    "16 characters or more, with which messages to the webhook are signed",
  ]

  static let reason = "a public example value: set your own (openssl rand -hex 16)"

  /// Whether a secret's `value` was copied from an example.
  static func isCopied(_ value: String, for setting: Setting) -> Bool {
    guard setting.isSecret else { return false }
    let examples = setting.example.map { [$0] + $0.split(separator: ",").map(String.init) } ?? []
    return value.lowercased().contains(mark) || earlier.contains(value) || examples.contains(value)
  }
}
