import DurableJobs

/// The limits on how long the oldest job of each queue may wait and run before an alarm opens.
///
/// Written as `QUEUE:waiting=TIME,running=TIME`, with entries separated by semicolons. `*` applies to every queue that
/// is not named, and to every time left out. A time is `500ms`, `30s`, `5m`, `2h`, or `off` for no limit.
public struct AlarmLimits: Sendable, Hashable {
  /// Why a text cannot be parsed as limits.
  public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The mistake and the correct form.
    public let description: String
  }

  /// A limit, where one is set.
  private enum Limit: Hashable {
    case off
    case seconds(Double)
  }

  /// How long the oldest job of a queue may wait and run; nil falls back to the limit for every queue.
  public struct Times: Sendable, Hashable {
    public var waiting: Duration?
    public var running: Duration?

    public init(waiting: Duration? = nil, running: Duration? = nil) {
      self.waiting = waiting
      self.running = running
    }
  }

  /// The limits in their written form.
  public let text: String
  private var limits: [String: [Alarm.Concern: Limit]] = [:]

  /// The defaults for every queue: a minute to wait, ten to run.
  public static let standard = AlarmLimits(Times(waiting: .seconds(60), running: .seconds(600)))

  /// - Parameters:
  ///   - all: for every queue that is not named, and for every time left out.
  ///   - queues: per queue, to the millisecond.
  public init(_ all: Times, queues: [String: Times] = [:]) {
    var entries: [String] = []
    for (queue, times) in [("*", all)] + queues.sorted(by: { $0.key < $1.key }) {
      let said = [(Alarm.Concern.waiting, times.waiting), (.running, times.running)]
      let known = said.compactMap { concern, time in time.map { (concern, Int(($0 / .milliseconds(1)).rounded())) } }
      if known.isEmpty { continue }
      for (concern, time) in known { limits[queue, default: [:]][concern] = .seconds(Double(time) / 1000) }
      entries.append("\(queue):" + known.map { "\($0.rawValue)=\(Self.text($1))" }.joined(separator: ","))
    }
    text = entries.joined(separator: ";")
  }

  public init(_ text: String) throws(Refusal) {
    self.text = text
    for entry in text.split(separator: ";") {
      let parts = entry.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let queue = Self.trimmed(parts[0])
      guard parts.count == 2, queue == "*" || QueueName(rawValue: queue).isValid else {
        throw Refusal(description: "'\(entry)' is not QUEUE:waiting=TIME,running=TIME with a queue's name or *")
      }
      if limits[queue] != nil { throw Refusal(description: "the queue \(queue) is given twice") }
      limits[queue] = [:]
      for assignment in parts[1].split(separator: ",", omittingEmptySubsequences: false) {
        let sides = assignment.split(separator: "=", omittingEmptySubsequences: false).map(Self.trimmed)
        guard sides.count == 2, let concern = Alarm.Concern(rawValue: sides[0]) else {
          throw Refusal(description: "'\(assignment)' is neither waiting=TIME nor running=TIME")
        }
        guard let limit = Self.limit(sides[1]) else {
          throw Refusal(description: "'\(sides[1])' is neither a time such as 500ms, 30s, 5m or 2h, nor off")
        }
        if limits[queue]?.updateValue(limit, forKey: concern) != nil {
          throw Refusal(description: "\(concern.rawValue) is given twice for \(queue)")
        }
      }
    }
  }

  /// The limit in seconds; nil for none.
  public func limit(of queue: String, _ concern: Alarm.Concern) -> Double? {
    switch limits[queue]?[concern] ?? limits["*"]?[concern] ?? .off {
    case .off: nil
    case .seconds(let seconds): seconds
    }
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }

  private static let units: [(suffix: String, milliseconds: Int)] = [
    ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000),
  ]

  private static func text(_ milliseconds: Int) -> String {
    let unit = units.last { milliseconds % $0.milliseconds == 0 } ?? units[0]
    return "\(milliseconds / unit.milliseconds)\(unit.suffix)"
  }

  private static func limit(_ text: String) -> Limit? {
    if text == "off" { return .off }
    for (suffix, milliseconds) in units where text.hasSuffix(suffix) {
      guard let count = Int(text.dropLast(suffix.count)), 1...1_000_000_000 ~= count else { continue }
      return .seconds(Double(count) * Double(milliseconds) / 1000)
    }
    return nil
  }
}
