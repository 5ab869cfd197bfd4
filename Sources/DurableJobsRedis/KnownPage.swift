import DurableJobs
import HiredisClient

extension RedisBroker {
  /// A page of a queue's durable jobs that the broker knows, whether ready, delayed or claimed.
  public struct KnownPage: Sendable {
    /// A job may appear twice, since jobs move during the scan; a job that stays is never left out.
    public let ids: [JobID]
    /// The cursor of the next page; nil after the last.
    public let next: String?
  }

  /// A page of the jobs that the broker knows: each script that adds, moves or ends a durable job updates the index
  /// atomically.
  ///
  /// - Parameters:
  ///   - cursor: nil for the first page.
  ///   - count: the approximate size of a page.
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
