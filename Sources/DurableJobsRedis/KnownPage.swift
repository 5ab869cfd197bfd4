import DurableJobs
import HiredisClient

extension RedisBroker {
  /// A part of the durable jobs that the broker knows in a queue, whether ready, delayed or claimed.
  public struct KnownPage: Sendable {
    /// A job may come twice, since they are read while they change; none that stays is left out.
    public let ids: [JobID]
    /// Where the next page begins; nil after the last.
    public let next: String?
  }

  /// Pages of what the broker knows: every script that makes, moves or ends a durable job keeps it in one step with the
  /// job.
  ///
  /// - Parameters:
  ///   - cursor: nil for the first page.
  ///   - count: about how many a page has.
  public func known(in queue: QueueName, from cursor: String? = nil, count: Int) async throws -> KnownPage {
    let command = RedisCommand("HSCAN", keys(of: queue).known, cursor ?? "0", "COUNT", count)
    return try await translate { () async throws(RedisError) in
      try await client.send(command) { reply throws(RedisError) in
        guard reply.count == 2 else {
          throw RedisError(.protocol, "HSCAN was answered with \(reply.count) parts instead of 2")
        }
        let fields = reply[1]
        var ids: [JobID] = []
        for index in stride(from: 0, to: fields.count, by: 2) {
          if let id = JobID(bytes: fields[index].bytes) { ids.append(id) }
        }
        let next = reply[0].text
        return KnownPage(ids: ids, next: next == "0" ? nil : next)
      }
    }
  }
}
