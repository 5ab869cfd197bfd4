import DurableJobs
import LibPQClient

extension PostgresUUID {
  public init(_ id: JobID) { self.init(high: id.high, low: id.low) }
}

extension JobID {
  public init(_ uuid: PostgresUUID) { self.init(high: uuid.high, low: uuid.low) }
}

extension PostgresUUID {
  /// A trace id for the column `trace`: its 16 bytes unchanged, so that it is found by its 32 digits.
  public init(_ trace: TraceID) { self.init(high: trace.high, low: trace.low) }
}

extension TraceContext {
  /// The context in the columns `trace`, `trace_span` and `trace_sampled`; the last version wrote the first alone.
  init?(_ trace: PostgresUUID?, span: Int64?, isSampled: Bool?) {
    guard let id = trace.flatMap({ TraceID($0) }) else { return nil }
    self.init(id: id, span: span.map { UInt64(bitPattern: $0) } ?? id.low, isSampled: isSampled ?? true)
  }

  /// The column `trace_span`.
  var signedSpan: Int64 { Int64(bitPattern: span) }
}

extension TraceID {
  public init?(_ uuid: PostgresUUID) { self.init(high: uuid.high, low: uuid.low) }
}
