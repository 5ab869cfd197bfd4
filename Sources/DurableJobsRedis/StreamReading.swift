import DurableJobs
import HiredisClient

/// The result of reading a queue's streams: its claims, and the last entry of each stream.
struct StreamReading: Sendable {
  /// An entry that is not a job is a failure.
  private(set) var claims: [Result<Claim, BrokerError>] = []
  /// By the streams' numbers from 1; nil if nothing came.
  private(set) var last: [String?]
  /// The size of its largest record, in bytes.
  private(set) var largest = 0

  /// - Parameters:
  ///   - reply: XREADGROUP's: for each stream its name and its entries, each an id and its fields.
  ///   - streams: the keys of the queue's streams.
  ///   - incarnation: the consumer's incarnation at the time of the request.
  init(_ reply: borrowing RedisReply, queue: QueueName, streams: [String], incarnation: Int) {
    last = Array(repeating: nil, count: streams.count)
    for index in 0..<reply.count {
      let stream = reply[index]
      let name = stream[0].bytes
      guard let place = streams.firstIndex(where: { $0.utf8.count == name.count && $0.utf8.elementsEqual(name) }) else {
        continue
      }
      let number = place + 1
      let entries = stream[1]
      claims.reserveCapacity(claims.count + entries.count)
      if entries.count > 0 {
        last[number - 1] = String(decoding: entries[entries.count - 1][0].bytes, as: UTF8.self)
      }
      for position in 0..<entries.count {
        let entry = entries[position]
        // An entry deleted while it was pending has no fields.
        guard entry.count == 2, entry[1].count == 2 else { continue }
        let receipt = "\(number)" + String(decoding: entry[0].bytes, as: UTF8.self)
        let readyAt = Self.milliseconds(ofEntry: entry[0].bytes)
        let record = entry[1][1]
        largest = max(largest, record.bytes.count)
        do throws(BrokerError) {
          let decoded = try RecordCoding.decode(record.bytes, queue: queue)
          claims.append(
            .success(
              Claim(
                record: decoded, attempt: decoded.attempts + 1, receipt: receipt, incarnation: incarnation,
                readyAt: .init(unixMilliseconds: readyAt), isRedelivered: number > QueueKeys.priorities)))
        } catch {
          claims.append(.failure(error))
        }
      }
    }
  }

  /// An entry's id starts with the milliseconds at which it was added.
  private static func milliseconds(ofEntry id: UnsafeRawBufferPointer) -> Int64 {
    var milliseconds: Int64 = 0
    for byte in id {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { break }
      milliseconds = milliseconds &* 10 &+ Int64(byte &- UInt8(ascii: "0"))
    }
    return milliseconds
  }
}
