extension Duration {
  /// - Parameter minutes: 60 seconds each.
  public static func minutes(_ minutes: some BinaryInteger) -> Duration { .seconds(minutes) * 60 }

  /// - Parameter hours: 3,600 seconds each.
  public static func hours(_ hours: some BinaryInteger) -> Duration { .seconds(hours) * 3600 }

  /// - Parameter days: 86,400 seconds each, regardless of the calendar.
  public static func days(_ days: some BinaryInteger) -> Duration { .seconds(days) * 86_400 }
}
