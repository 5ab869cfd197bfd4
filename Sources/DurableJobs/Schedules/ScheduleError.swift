/// A schedule that cannot be. The message says what is wrong, where, and what would be right.
public struct ScheduleError: Error, Sendable, CustomStringConvertible {
  /// The kind of mistake, open for more.
  public struct Code: Hashable, Sendable {
    private let name: String
    private init(_ name: String) { self.name = name }

    /// A cron expression that cannot be read.
    public static let expression = Code("expression")
    /// An interval that is too short, or no whole number of milliseconds.
    public static let interval = Code("interval")
    /// A name that cannot be one, or that two schedules have.
    public static let name = Code("name")
    /// Another transaction has the schedule's state and does not end.
    public static let held = Code("held")
  }

  public let code: Code
  /// What is wrong, where, and what would be right.
  public let message: String
  public var description: String { message }

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// How long a store waits for a transaction that holds a schedule's state.
  public static let lockLimit = Duration.seconds(1)

  /// A state that another transaction had for all of the limit.
  public init(held schedule: ScheduleName) {
    self.init(
      .held,
      "another transaction has locked the schedule \(schedule) and did not end within \(Self.lockLimit): try again")
  }
}
