import FoundationEssentials

/// A `timestamptz`: microseconds since the beginning of 2000, UTC; `infinity` is the distant future, `-infinity` the
/// distant past. Also reads `timestamp`, as UTC.
extension Date: PostgresEncodable, PostgresDecodable {
  /// The seconds between the beginning of 2000 and that of 2001, Foundation's epoch; 2000 was a leap year.
  private static let secondsIn2000 = 366.0 * 86400

  public static var postgresType: PostgresType { .timestamptz }

  public func encode(into buffer: inout PostgresBuffer) {
    if self == .distantFuture { return buffer.append(Int64.max) }
    if self == .distantPast { return buffer.append(Int64.min) }
    let microseconds = ((timeIntervalSinceReferenceDate + Self.secondsIn2000) * 1_000_000).rounded()
    buffer.append(Int64(exactly: microseconds) ?? (microseconds > 0 ? .max : .min))
  }

  public init(postgres cell: PostgresCell) throws(PostgresError) {
    guard cell.type == .timestamptz || cell.type == .timestamp else { throw cell.mismatch("Date") }
    switch try cell.integer(Int64.self, as: "Date") {
    case .max: self = .distantFuture
    case .min: self = .distantPast
    case let microseconds:
      self.init(timeIntervalSinceReferenceDate: Double(microseconds) / 1_000_000 - Self.secondsIn2000)
    }
  }
}
