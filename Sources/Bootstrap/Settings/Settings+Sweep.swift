import DurableJobsPostgres

extension Settings {
  /// How much is kept of what has ended.
  public var sweep: LedgerSweep {
    LedgerSweep(
      endedDays: endedDays, dead: LedgerSweep.Limit(days: deadDays, rows: deadLimit),
      actions: LedgerSweep.Limit(days: actionsDays, rows: actionsLimit))
  }
}
