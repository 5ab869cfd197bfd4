import LibPQClient

/// The Postgres schema with a queue's tables, and their names in SQL.
///
/// A class, so that copying a ledger copies one reference instead of one per name.
public final class JobsSchema: Sendable {
  /// The default schema.
  public static let standard = JobsSchema("jobs")

  public let name: String

  /// Jobs that are pending.
  let jobs: PostgresIdentifier
  let deadJobs: PostgresIdentifier
  /// Ids of jobs that other programs have added and no process has pushed.
  let unpushed: PostgresIdentifier
  let endedJobs: PostgresIdentifier
  let workers: PostgresIdentifier
  let queuePauses: PostgresIdentifier
  let cancellations: PostgresIdentifier
  let minutes: PostgresIdentifier
  let hours: PostgresIdentifier
  let actions: PostgresIdentifier
  let schedules: PostgresIdentifier
  let ticks: PostgresIdentifier
  let alarms: PostgresIdentifier
  let samples: PostgresIdentifier
  let clocks: PostgresIdentifier
  /// The table of the schema's applied versions.
  let versions: PostgresIdentifier
  /// Adds two histograms.
  let histogramAdd: PostgresIdentifier
  /// The aggregate of the same.
  let histogramSum: PostgresIdentifier

  /// - Parameter name: without quotes, such as `jobs`.
  public init(_ name: String) {
    self.name = name
    func table(_ table: String) -> PostgresIdentifier { PostgresIdentifier(table, in: name) }
    jobs = table("jobs")
    deadJobs = table("dead_jobs")
    unpushed = table("unpushed_jobs")
    endedJobs = table("ended_jobs")
    workers = table("workers")
    queuePauses = table("queue_pauses")
    cancellations = table("job_cancellations")
    minutes = table("job_minutes")
    hours = table("job_hours")
    actions = table("actions")
    schedules = table("schedules")
    ticks = table("schedule_ticks")
    alarms = table("alarms")
    samples = table("stack_samples")
    clocks = table("process_clocks")
    versions = table("schema_versions")
    histogramAdd = table("histogram_add")
    histogramSum = table("histogram_sum")
  }
}

extension JobsSchema: Hashable {
  public static func == (one: JobsSchema, other: JobsSchema) -> Bool { one.name == other.name }

  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
