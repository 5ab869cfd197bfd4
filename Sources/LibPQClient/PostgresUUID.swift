import FoundationEssentials

/// The 16 bytes of a `uuid`. Compares and hashes as two integers, and sorts as Postgres does.
public struct PostgresUUID: Hashable, Sendable, Comparable, CustomStringConvertible {
  public var high: UInt64
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  public init(_ uuid: UUID) {
    (high, low) = withUnsafeBytes(of: uuid.uuid) { bytes in
      (
        UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
  }

  /// Parses the form with four dashes, in either case; nil for any other text.
  public init?(_ text: some StringProtocol) {
    guard let uuid = UUID(uuidString: String(text)) else { return nil }
    self.init(uuid)
  }

  public static func < (one: PostgresUUID, other: PostgresUUID) -> Bool {
    (one.high, one.low) < (other.high, other.low)
  }

  public var description: String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for index in 0..<16 {
      if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
      let byte = (index < 8 ? high : low) >> UInt64(56 - 8 * (index % 8)) & 0xff
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}

extension PostgresUUID: PostgresEncodable, PostgresDecodable {
  public static var postgresType: PostgresType { .uuid }

  public func encode(into buffer: inout PostgresBuffer) {
    buffer.append(high)
    buffer.append(low)
  }

  public init(postgres cell: PostgresCell) throws(PostgresError) {
    guard cell.type == .uuid, cell.count == 16 else { throw cell.mismatch("PostgresUUID") }
    (high, low) = try cell.withBytes { bytes in
      (
        UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
  }
}

extension UUID: PostgresEncodable, PostgresDecodable {
  public static var postgresType: PostgresType { .uuid }
  public func encode(into buffer: inout PostgresBuffer) { PostgresUUID(self).encode(into: &buffer) }
  public init(postgres cell: PostgresCell) throws(PostgresError) {
    let value = try PostgresUUID(postgres: cell)
    let bytes = withUnsafeBytes(of: (value.high.bigEndian, value.low.bigEndian)) { $0.loadUnaligned(as: uuid_t.self) }
    self.init(uuid: bytes)
  }
}
