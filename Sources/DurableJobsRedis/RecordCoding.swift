#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import HiredisClient

/// The format of a job's record in Redis: a fixed head that the scripts read and patch, then the rest.
///
///     byte 0       1 if durable, else 0
///     byte 1       the priority as a digit, '0' high
///     bytes 2–3    attempts counted before the next delivery, most significant byte first
///     bytes 4–19   the id
///     bytes 20–21  the payload's version
///     byte 22      the length of the kind, then the kind
///     4 bytes      the length of the failures as JSON, then the failures (durable jobs have theirs in the ledger)
///     the rest     the payload
///
/// A payload that stayed in the ledger is marked by version 65535, which no kind has, and replaced by a `PayloadMark`.
/// A worker of an older version without such marks treats that as a version it cannot run: it parks the job, whose row
/// has the right version, so the job becomes pending again at once.
///
/// A job's trace and limits precede its failures, as an element of the same array (`RecordMark`): a worker of a version
/// without such marks reads it as a failure without text, and runs the job as usual.
enum RecordCoding {
  static func encode(_ record: JobRecord) throws -> [UInt8] {
    let argument = try RecordArgument(record)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(argument.length)
    argument.write(to: &bytes)
    return bytes
  }

  /// - Throws: `BrokerError` with code `unexpectedReply` for bytes that `encode` did not write.
  static func decode(_ bytes: UnsafeRawBufferPointer, queue: QueueName) throws(BrokerError) -> JobRecord {
    var reader = Reader(bytes: bytes)
    let durable = try reader.integer(UInt8.self)
    let priority = try reader.integer(UInt8.self) &- UInt8(ascii: "0")
    let attempts = try reader.integer(UInt16.self)
    let id = JobID(high: try reader.integer(UInt64.self), low: try reader.integer(UInt64.self))
    var version = Int(try reader.integer(UInt16.self))
    let kind = try reader.take(Int(try reader.integer(UInt8.self)))
    let history = try reader.take(Int(try reader.integer(UInt32.self)))
    let (mark, failures) = RecordMark.split(history)
    var decoded: [JobFailure] = []
    if !failures.isEmpty {
      do {
        decoded = try JSONDecoder().decode([JobFailure].self, from: Data(failures)).filter { !RecordMark.isMark($0) }
      } catch {
        throw BrokerError(.unexpectedReply, "the failures of job \(id) in Redis do not decode", underlying: error)
      }
    }
    let payload = reader.rest
    let left = version == PayloadMark.version && durable == 1 ? PayloadMark(payload) : nil
    if let left { version = left.version }
    return JobRecord(
      id: id, kind: JobKind(rawValue: String(decoding: kind, as: UTF8.self)), queue: queue,
      priority: JobPriority(rawValue: priority) ?? .normal, version: version,
      payload: left == nil ? Array(payload) : [], isDurable: durable == 1, attempts: Int(attempts),
      maxAttempts: mark.maxAttempts, timeout: mark.timeout, failures: decoded, trace: mark.trace,
      payloadInLedger: left?.size)
  }

  private struct Reader {
    let bytes: UnsafeRawBufferPointer
    var position = 0

    var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[position...]) }

    mutating func take(_ count: Int) throws(BrokerError) -> UnsafeRawBufferPointer {
      guard bytes.count - position >= count else {
        throw BrokerError(.unexpectedReply, "a job in Redis is truncated after \(bytes.count) bytes")
      }
      defer { position += count }
      return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
    }

    mutating func integer<I: FixedWidthInteger>(_ type: I.Type) throws(BrokerError) -> I {
      I(bigEndian: try take(MemoryLayout<I>.size).loadUnaligned(as: I.self))
    }
  }
}

/// A record as a command argument, encoded where the command is built.
struct RecordArgument: RedisArgument {
  private let record: JobRecord
  private let failures: [UInt8]
  /// Set for a payload that stays in the ledger.
  private let mark: PayloadMark?

  init(_ record: JobRecord) throws {
    guard record.kind.rawValue.utf8.count <= 255 else {
      throw BrokerError(.unexpectedReply, "the kind '\(record.kind)' is longer than 255 bytes; give it a shorter name")
    }
    self.record = record
    mark = record.leftBytes.map { PayloadMark(version: record.version, size: $0) }
    let failures = record.failures.isEmpty ? [] : Array(try JSONEncoder().encode(record.failures))
    self.failures = RecordMark(record)?.joined(to: failures) ?? failures
  }

  var length: Int {
    27 + record.kind.rawValue.utf8.count + failures.count + (mark == nil ? record.payload.count : PayloadMark.length)
  }

  func append(to buffer: inout RedisBuffer) {
    buffer.appendBulk(length: length) { write(to: &$0) }
  }

  fileprivate func write(to bytes: inout [UInt8]) {
    bytes.append(record.isDurable ? 1 : 0)
    bytes.append(UInt8(ascii: "0") + record.priority.rawValue)
    bytes.append(bigEndian: UInt16(clamping: record.attempts))
    bytes.append(bigEndian: record.id.high)
    bytes.append(bigEndian: record.id.low)
    bytes.append(bigEndian: UInt16(clamping: mark == nil ? record.version : PayloadMark.version))
    var kind = record.kind.rawValue
    kind.withUTF8 { name in
      bytes.append(UInt8(truncatingIfNeeded: name.count))
      bytes.append(contentsOf: name)
    }
    bytes.append(bigEndian: UInt32(failures.count))
    bytes += failures
    if let mark { mark.write(to: &bytes) } else { bytes += record.payload }
  }
}

extension [UInt8] {
  mutating func append<I: FixedWidthInteger>(bigEndian value: I) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }
}
