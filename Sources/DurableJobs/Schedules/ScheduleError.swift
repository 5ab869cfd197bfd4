/// An invalid schedule, or one that is locked. The message says what is wrong, where, and what would be valid.
public struct ScheduleError: Error, Sendable, CustomStringConvertible {
  /// The kind of error, open for more.
  public struct Code: Hashable, Sendable {
    private let name: String
    private init(_ name: String) { self.name = name }

    /// A cron expression is invalid.
    public static let expression = Code("expression")
    /// An interval is out of range, or not a whole number of milliseconds.
    public static let interval = Code("interval")
    /// A name is invalid, or two schedules share it.
    public static let name = Code("name")
    /// Another transaction has locked the schedule's state and does not end.
    public static let held = Code("held")
  }

  public let code: Code
  /// What is wrong, where, and what would be valid.
  public let message: String
  public var description: String { message }

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// How long a store waits for a transaction that has locked a schedule's state.
  public static let lockLimit = Duration.seconds(1)

  /// Another transaction held the state's lock for the whole limit.
  public init(held schedule: ScheduleName) {
    self.init(
      .held,
      "another transaction has locked the schedule \(schedule) and did not end within \(Self.lockLimit): try again")
  }
}
