import Foundation
import LibPQClient

/// Spreads what the demo did in a minute over two weeks, so that a feed looks as if people had lived in it.
///
/// Every moment of the run becomes one of the two weeks, by one function that grows: it takes each post to its planned
/// age and stretches what lies between two posts evenly. So whatever came after something else still does, in the order
/// of times as in the order of ids, which feeds and cursors use and which stay. A notification gets the new time of its
/// like, comment or follow, as audits expect.
struct ExhibitionTimes: Sendable {
  /// The accounts whose doings are moved; those of others stay where they are.
  let accounts: [Int]
  /// In the order in which they were made.
  let posts: [Int]
  /// The planned times of the posts, in the same order.
  let planned: [Date]

  func spread(in transaction: PostgresTransaction) async throws {
    try await transaction.pipeline([
      "SELECT lock_notification_owners(\(accounts))",
      """
      UPDATE posts SET created_at = planned FROM unnest(\(posts), \(planned)) AS made (post, planned)
      WHERE id = post
      """,
      """
      WITH spans AS MATERIALIZED (\(spans)) UPDATE likes SET created_at = planned + (created_at - start) * stretch
      FROM spans WHERE created_at >= start AND created_at < past
        AND post_id = ANY (\(posts)) AND account_id = ANY (\(accounts))
      """,
      """
      WITH spans AS MATERIALIZED (\(spans)) UPDATE comments SET created_at = planned + (created_at - start) * stretch
      FROM spans WHERE created_at >= start AND created_at < past
        AND post_id = ANY (\(posts)) AND account_id = ANY (\(accounts))
      """,
      """
      WITH spans AS MATERIALIZED (\(spans)) UPDATE follows SET created_at = planned + (created_at - start) * stretch
      FROM spans WHERE created_at >= start AND created_at < past
        AND followee_id = ANY (\(accounts)) AND follower_id = ANY (\(accounts))
      """,
      """
      WITH spans AS MATERIALIZED (\(spans)) UPDATE messages SET created_at = planned + (created_at - start) * stretch
      FROM spans WHERE created_at >= start AND created_at < past
        AND owner_id = ANY (\(accounts)) AND peer_id = ANY (\(accounts))
      """,
      """
      UPDATE notifications n SET created_at = l.created_at FROM likes l
      WHERE n.owner_id = ANY (\(accounts)) AND n.type = 0 AND l.post_id = n.post_id AND l.account_id = n.actor_id
        AND l.post_id = ANY (\(posts)) AND l.created_at <> n.created_at
      """,
      """
      UPDATE notifications n SET created_at = c.created_at FROM comments c
      WHERE n.owner_id = ANY (\(accounts)) AND n.type = 1 AND c.post_id = n.post_id AND c.id = n.comment_id
        AND c.post_id = ANY (\(posts)) AND c.created_at <> n.created_at
      """,
      """
      UPDATE notifications n SET created_at = f.created_at FROM follows f
      WHERE n.owner_id = ANY (\(accounts)) AND n.type = 2 AND f.followee_id = n.owner_id
        AND f.follower_id = n.actor_id AND f.created_at <> n.created_at
      """,
    ])
  }

  /// From each post until the next one: when it was in the run, when it is planned, and how much longer that is. The
  /// run's own times are in the ids, in milliseconds since 2024.
  private var spans: PostgresQuery {
    """
    SELECT start, past, planned,
      (extract(epoch FROM planned_past - planned) / extract(epoch FROM past - start))::double precision AS stretch
    FROM (
      SELECT start, planned, lead(start, 1, now()) OVER (ORDER BY start) AS past,
        lead(planned, 1, now()) OVER (ORDER BY start) AS planned_past
      FROM (
        SELECT timestamptz '2024-01-01 00:00:00+00' + (post >> 12) * interval '1 millisecond' AS start, planned
        FROM unnest(\(posts), \(planned)) AS made (post, planned)
      ) made
    ) pairs WHERE past > start
    """
  }
}
