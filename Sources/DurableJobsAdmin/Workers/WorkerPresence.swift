/// Who counts as there: a worker renews its row each second (`migrations/0016_operations.sql`).
enum WorkerPresence {
  /// SQL that is true of the row of a worker that was heard of lately; the others are lost.
  static let isHeard = "seen_at > now() - interval '10 seconds'"
  /// SQL that is true of the row of a worker that is there, or went without a word so lately that somebody may want to
  /// know.
  static let isListed = "seen_at > now() - interval '1 hour'"
}
