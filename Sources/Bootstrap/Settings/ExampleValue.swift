/// Recognizes the values of `.env.example`, `secret.yaml.example` and this program's own help. They are public, so a
/// secret that has one of them protects nothing.
enum ExampleValue {
  /// What every secret of the example files contains.
  static let mark = "change-me"

  /// What earlier example files said instead; copies of them are still around.
  private static let earlier: Set<String> = [
    "who has it may look at the dashboard and change nothing",
    "who has it may read the dashboard, jobs and the autoscaling signal, and change nothing",
    "32 characters or more, with which fans' certificates are signed",
    "16 characters or more, with which messages to the webhook are signed",
  ]

  static let reason = "the value of an example, which everybody can read: set one of your own (openssl rand -hex 16)"

  /// Whether `value` of a secret setting was copied from an example.
  static func isCopied(_ value: String, for setting: Setting) -> Bool {
    guard setting.isSecret else { return false }
    let examples = setting.example.map { [$0] + $0.split(separator: ",").map(String.init) } ?? []
    return value.lowercased().contains(mark) || earlier.contains(value) || examples.contains(value)
  }
}
