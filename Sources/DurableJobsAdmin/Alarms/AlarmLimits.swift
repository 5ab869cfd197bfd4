import DurableJobs

/// How long the oldest job of each queue may wait and run, before an alarm is given.
///
/// Written as `QUEUE:waiting=TIME,running=TIME`, entries separated by semicolons; `*` is every queue that is not named,
/// or for which a time is left out. A time is `500ms`, `30s`, `5m`, `2h`, or `off` for no limit.
public struct AlarmLimits: Sendable, Hashable {
  /// Why a text is not such limits.
  public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong and what would be right.
    public let description: String
  }

  /// A limit, as far as one was said.
  private enum Limit: Hashable {
    case off
    case seconds(Double)
  }

  /// As they were written.
  public let text: String
  private var limits: [String: [Alarm.Concern: Limit]] = [:]

  /// What holds unless a setting says otherwise: a post reaches its followers within seconds, and what comes in bulk
  /// may wait.
  public static let standard =
    "*:waiting=1m,running=10m;fanout:waiting=10s;fanout-bulk:waiting=5m;lookups:waiting=10m;rankings:waiting=10m,running=30m"

  /// The limits of `standard`.
  public init() {
    text = Self.standard
    limits = [
      "*": [.waiting: .seconds(60), .running: .seconds(600)], "fanout": [.waiting: .seconds(10)],
      "fanout-bulk": [.waiting: .seconds(300)], "lookups": [.waiting: .seconds(600)],
      "rankings": [.waiting: .seconds(600), .running: .seconds(1800)],
    ]
  }

  public init(_ text: String) throws(Refusal) {
    self.text = text
    for entry in text.split(separator: ";") {
      let parts = entry.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let queue = Self.trimmed(parts[0])
      guard parts.count == 2, queue == "*" || QueueName(rawValue: queue).isValid else {
        throw Refusal(description: "'\(entry)' is not QUEUE:waiting=TIME,running=TIME with a queue's name or *")
      }
      if limits[queue] != nil { throw Refusal(description: "the queue \(queue) stands there twice") }
      limits[queue] = [:]
      for assignment in parts[1].split(separator: ",", omittingEmptySubsequences: false) {
        let sides = assignment.split(separator: "=", omittingEmptySubsequences: false).map(Self.trimmed)
        guard sides.count == 2, let concern = Alarm.Concern(rawValue: sides[0]) else {
          throw Refusal(description: "'\(assignment)' is neither waiting=TIME nor running=TIME")
        }
        guard let limit = Self.limit(sides[1]) else {
          throw Refusal(description: "'\(sides[1])' is not a time such as 500ms, 30s, 5m or 2h, nor off")
        }
        if limits[queue]?.updateValue(limit, forKey: concern) != nil {
          throw Refusal(description: "\(concern.rawValue) stands there twice for \(queue)")
        }
      }
    }
  }

  /// In seconds; nil for none.
  public func limit(of queue: String, _ concern: Alarm.Concern) -> Double? {
    switch limits[queue]?[concern] ?? limits["*"]?[concern] ?? .off {
    case .off: nil
    case .seconds(let seconds): seconds
    }
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }

  private static func limit(_ text: String) -> Limit? {
    if text == "off" { return .off }
    let units: [(suffix: String, seconds: Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600)]
    for (suffix, seconds) in units where text.hasSuffix(suffix) {
      guard let count = Int(text.dropLast(suffix.count)), 1...1_000_000_000 ~= count else { continue }
      return .seconds(Double(count) * seconds)
    }
    return nil
  }
}
