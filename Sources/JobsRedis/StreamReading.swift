import Jobs
import Redis

/// What a read of a queue's three streams brought: its claims, and the last entry of each stream.
struct StreamReading: Sendable {
  /// An entry that is no job is a failure.
  private(set) var claims: [Result<Claim, BrokerError>] = []
  /// By the streams' numbers from 1; nil where nothing came.
  private(set) var last: [String?] = [nil, nil, nil]

  /// - Parameters:
  ///   - reply: XREADGROUP's: of each stream its name and its entries, each an id and its fields.
  ///   - incarnation: the consumer's life in which it was asked for.
  init(_ reply: borrowing RedisReply, queue: QueueName, incarnation: Int) {
    for index in 0..<reply.count {
      let stream = reply[index]
      let number =
        switch stream[0].bytes.last {
        case UInt8(ascii: "h"): 1
        case UInt8(ascii: "l"): 2
        default: 3
        }
      let entries = stream[1]
      claims.reserveCapacity(claims.count + entries.count)
      if entries.count > 0 {
        last[number - 1] = String(decoding: entries[entries.count - 1][0].bytes, as: UTF8.self)
      }
      for position in 0..<entries.count {
        let entry = entries[position]
        // An entry that was deleted while it was pending has no fields.
        guard entry.count == 2, entry[1].count == 2 else { continue }
        let receipt = "\(number)" + String(decoding: entry[0].bytes, as: UTF8.self)
        let readyAt = Self.milliseconds(ofEntry: entry[0].bytes)
        let record = entry[1][1]
        do throws(BrokerError) {
          let decoded = try RecordCoding.decode(record.bytes, queue: queue)
          claims.append(
            .success(
              Claim(
                record: decoded, attempt: decoded.attempts + 1, receipt: receipt, incarnation: incarnation,
                readyAt: readyAt)))
        } catch {
          claims.append(.failure(error))
        }
      }
    }
  }

  /// An entry's id begins with the milliseconds at which it was added.
  private static func milliseconds(ofEntry id: UnsafeRawBufferPointer) -> Int64 {
    var milliseconds: Int64 = 0
    for byte in id {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { break }
      milliseconds = milliseconds &* 10 &+ Int64(byte &- UInt8(ascii: "0"))
    }
    return milliseconds
  }
}
