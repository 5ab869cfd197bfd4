/// How much is kept, and how much one job does. Tests make these small.
struct NotificationSizes: Sendable {
  /// How many notifications of an owner are kept. Twice as many are too many to wait for the periodic job.
  var kept = 2000
  /// How many months they are kept.
  var months = 6
  /// How many rows of each table a job takes away.
  var budget = 5000
  /// How many owners the periodic job looks at.
  var ownersPage = 1000

  @TaskLocal static var current = NotificationSizes()
}
