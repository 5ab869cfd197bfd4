/// The values of one of a cron expression's five fields.
struct CronField: Sendable, Hashable {
  /// A field's name, bounds and names for values.
  struct Kind: Sendable {
    let name: String
    let bounds: ClosedRange<Int>
    var names: [String] = []

    static let minute = Kind(name: "minute", bounds: 0...59)
    static let hour = Kind(name: "hour", bounds: 0...23)
    static let dayOfMonth = Kind(name: "day of month", bounds: 1...31)
    static let month = Kind(
      name: "month", bounds: 1...12,
      names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
    /// 7 is Sunday, like 0.
    static let dayOfWeek = Kind(
      name: "day of week", bounds: 0...7, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"])
    /// The values of `*`: 0 to 6 for days of the week, since 7 repeats Sunday.
    var wildcard: ClosedRange<Int> { isWeek ? 0...6 : bounds }
    var isWeek: Bool { bounds.upperBound == 7 }

    static let all = [minute, hour, dayOfMonth, month, dayOfWeek]

    /// The valid values, for a message.
    var right: String {
      let numbers = "a number from \(bounds.lowerBound) to \(bounds.upperBound)"
      guard let first = names.first, let last = names.last else { return numbers }
      return numbers + " or a name from \(first) to \(last)"
    }
  }

  /// Bit n is set if the field includes n.
  private(set) var bits: UInt64 = 0
  /// Whether it begins with `*`, also with a step, as in Vixie cron.
  let isWildcard: Bool

  func contains(_ value: Int) -> Bool { bits >> UInt64(value) & 1 == 1 }

  /// The smallest included value not less than `value`.
  func first(from value: Int) -> Int? {
    if value > 63 { return nil }
    let rest = bits >> UInt64(value)
    return rest == 0 ? nil : value + rest.trailingZeroBitCount
  }

  /// Parses a field: values, ranges `a-b`, steps `*/n` and `a-b/n`, and lists of them.
  ///
  /// - Throws: the error, with the valid values.
  init(_ text: Substring, _ kind: Kind) throws(Wrong) {
    isWildcard = text.first == "*"
    for item in text.split(separator: ",", omittingEmptySubsequences: false) {
      if item.isEmpty { throw Wrong("an entry of its list is empty; use \(kind.right)") }
      for value in try Self.values(item, kind) { bits |= 1 << UInt64(value) }
    }
    if kind.isWeek, contains(7) { bits = bits & 0x7F | 1 }
  }

  private static func values(_ item: Substring, _ kind: Kind) throws(Wrong) -> StrideThrough<Int> {
    let halves = item.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let (range, isRange) = try range(halves[0], kind)
    guard halves.count == 2 else { return stride(from: range.lowerBound, through: range.upperBound, by: 1) }
    guard isRange else {
      throw Wrong("the step in '\(item)' has no range before it; write */n or a-b/n")
    }
    let greatest = kind.bounds.upperBound
    guard let step = number(halves[1]), 1...greatest ~= step else {
      throw Wrong("the step in '\(item)' is '\(halves[1])'; use a number from 1 to \(greatest)")
    }
    return stride(from: range.lowerBound, through: range.upperBound, by: step)
  }

  /// - Returns: the values, and whether the text is a range.
  private static func range(_ text: Substring, _ kind: Kind) throws(Wrong) -> (ClosedRange<Int>, Bool) {
    if text == "*" { return (kind.wildcard, true) }
    let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    let first = try value(ends[0], kind)
    if ends.count == 1 { return (first...first, false) }
    var last = try value(ends[1], kind)
    // A range may end with Sunday, such as sat-sun.
    if last == 0, first > 0, kind.isWeek { last = 7 }
    guard first <= last else {
      throw Wrong("the range '\(text)' ends before it begins; write two ranges, separated by a comma")
    }
    return (first...last, true)
  }

  private static func value(_ text: Substring, _ kind: Kind) throws(Wrong) -> Int {
    if let index = kind.names.firstIndex(of: text.lowercased()) {
      return index + kind.bounds.lowerBound
    }
    guard let value = number(text), kind.bounds.contains(value) else {
      throw Wrong("'\(text)' is not a valid value; use \(kind.right)")
    }
    return value
  }

  /// Digits only, without a sign.
  private static func number(_ text: Substring) -> Int? {
    (1...2).contains(text.utf8.count) && text.utf8.allSatisfy { 48...57 ~= $0 } ? Int(text) : nil
  }

  /// Why a field is invalid, without its place in the expression.
  struct Wrong: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
  }
}
