import DurableJobsAdmin
import LibPQClient

/// The doctor's check of feed partitions: how far ahead they exist.
public struct FeedPartitionExamination: Examination {
  public init() {}

  public func run(in transaction: PostgresTransaction) async throws -> [Finding] {
    let days = try await transaction.query(
      """
      SELECT max(to_date(right(relname, 8), 'YYYYMMDD')) - (now() AT TIME ZONE 'UTC')::date
      FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
      WHERE inhparent = 'following_user_posts'::regclass AND relname ~ '_[0-9]{8}$'
      """)[0].decode(Int?.self)
    let ahead = days ?? -1
    let detail = ahead < 0 ? "there is none for today" : "created \(ahead) days ahead"
    let advice = "run a worker, which creates them each hour, or `SELECT ensure_feed_partitions()`"
    if ahead >= 2 { return [.ok("feed partitions", detail)] }
    return [ahead >= 0 ? .warn("feed partitions", detail, advice) : .fail("feed partitions", detail, advice)]
  }
}
