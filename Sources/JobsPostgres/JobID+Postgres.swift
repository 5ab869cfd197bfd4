import Jobs
import Postgres

extension PostgresUUID {
  public init(_ id: JobID) { self.init(high: id.high, low: id.low) }
}

extension JobID {
  public init(_ uuid: PostgresUUID) { self.init(high: uuid.high, low: uuid.low) }
}
