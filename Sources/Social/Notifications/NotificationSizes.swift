/// The number of notifications kept, and the amount of work per job. Tests use small numbers.
struct NotificationSizes: Sendable {
  /// How many notifications an owner keeps. At twice as many, trimming does not wait for the periodic job.
  var kept = 2000
  /// How many months notifications are kept.
  var months = 6
  /// How many rows of each table one job deletes.
  var budget = 5000
  /// How many owners the periodic job checks.
  var ownersPage = 1000

  @TaskLocal static var current = NotificationSizes()
}
