import DurableJobs
import LibPQClient

extension PostgresUUID {
  public init(_ id: JobID) { self.init(high: id.high, low: id.low) }
}

extension JobID {
  public init(_ uuid: PostgresUUID) { self.init(high: uuid.high, low: uuid.low) }
}

extension PostgresUUID {
  /// A trace's id in the column `trace`: 16 bytes as it is, and found there by its 32 digits.
  public init(_ trace: TraceID) { self.init(high: trace.high, low: trace.low) }
}

extension TraceID {
  public init?(_ uuid: PostgresUUID) { self.init(high: uuid.high, low: uuid.low) }
}
