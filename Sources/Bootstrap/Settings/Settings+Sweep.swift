import DurableJobsPostgres

extension Settings {
  /// How much ended work is kept.
  public var sweep: LedgerSweep {
    LedgerSweep(
      endedDays: endedDays, dead: LedgerSweep.Limit(days: deadDays, rows: deadLimit),
      actions: LedgerSweep.Limit(days: actionsDays, rows: actionsLimit))
  }
}
