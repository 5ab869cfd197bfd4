/// The JSON files of an account's archive, and the statements for their items.
enum AccountArchiveParts {
  struct Part: Sendable {
    let name: String
    let sql: String
  }

  /// The account's id, which the transaction sets.
  private static let own = "current_setting('fanmill.export')::bigint"

  /// Whether the account may know the current name of another.
  private static func isVisible(_ column: String) -> String {
    """
    NOT EXISTS (SELECT FROM hidden_accounts hidden WHERE hidden.account_id = \(column)) AND NOT EXISTS (
      SELECT FROM restrictions kept_away WHERE kept_away.account_id = \(own) AND kept_away.other_id = \(column)
        AND (kept_away.blocked_at IS NOT NULL OR kept_away.is_blocked))
    """
  }

  static let all: [Part] = profile + writing + messages + fandom + safety

  private static let profile = [
    Part(
      name: "account.json",
      sql: """
        SELECT id, username, email, name, major, bio, avatar_media AS avatar, created_at AS "createdAt",
          adult_since AS "adultSince", suspended_at AS "suspendedAt", suspension_reason AS "suspensionReason"
        FROM accounts WHERE id = \(own)
        """),
    Part(
      name: "former-usernames.json",
      sql: """
        SELECT username, kept_until AS "keptUntil" FROM former_usernames WHERE account_id = \(own) ORDER BY kept_until
        """),
    Part(
      name: "sessions.json",
      sql: """
        SELECT created_at AS "createdAt", expires_at AS "expiresAt", network, client FROM sessions
        WHERE account_id = \(own) ORDER BY created_at
        """),
    Part(
      name: "networks.json",
      sql: """
        SELECT network, seen_at AS "seenAt" FROM account_networks WHERE account_id = \(own) ORDER BY seen_at
        """),
    Part(
      name: "pictures.json",
      sql: """
        SELECT m.id, m.created_at AS "createdAt", f.content_type AS "contentType", f.bytes, f.width, f.height,
          m.failure, m.taken_down_at AS "takenDownAt"
        FROM media m LEFT JOIN media_files f ON f.id = m.file_id WHERE m.owner_id = \(own) ORDER BY m.created_at, m.id
        """),
    Part(
      name: "purchases.json",
      sql: """
        SELECT source, receipt, places AS celebs, product, granted_at AS "grantedAt", refunded_at AS "refundedAt"
        FROM purchases WHERE account_id = \(own) ORDER BY granted_at
        """),
  ]

  private static let writing = [
    Part(
      name: "posts.json",
      sql: """
        SELECT id, title, description, media, image, created_at AS "createdAt", edited_at AS "editedAt",
          taken_down_at AS "takenDownAt"
        FROM posts WHERE author_id = \(own) ORDER BY id
        """),
    Part(
      name: "comments.json",
      sql: """
        SELECT post_id AS "postId", id, text, created_at AS "createdAt", taken_down_at AS "takenDownAt" FROM comments
        WHERE account_id = \(own) ORDER BY id
        """),
    Part(
      name: "likes.json",
      sql: """
        SELECT post_id AS "postId", created_at AS "createdAt" FROM likes WHERE account_id = \(own) ORDER BY id
        """),
    Part(
      name: "following.json",
      sql: """
        SELECT a.username, f.created_at AS "createdAt" FROM follows f JOIN accounts a ON a.id = f.followee_id
        WHERE f.follower_id = \(own) ORDER BY f.followee_id
        """),
    Part(
      name: "followers.json",
      sql: """
        SELECT a.username, f.created_at AS "createdAt" FROM follows f JOIN accounts a ON a.id = f.follower_id
        WHERE f.followee_id = \(own) ORDER BY f.follower_id
        """),
  ]

  private static let messages = [
    Part(
      name: "messages.json",
      sql: """
        SELECT m.id, coalesce(a.username, '~' || m.peer_id) AS peer, m.is_own AS "isOwn", m.text,
          m.created_at AS "createdAt"
        FROM messages m LEFT JOIN accounts a ON a.id = m.peer_id AND \(isVisible("m.peer_id"))
        WHERE m.owner_id = \(own) ORDER BY m.id
        """),
    Part(
      name: "notifications.json",
      sql: """
        SELECT n.id, n.type, n.checked OR n.id <= coalesce(c.checked_until, 0) AS checked, a.username,
          nullif(n.post_id, 0) AS "postId", nullif(n.comment_id, 0) AS "commentId", n.created_at AS "createdAt"
        FROM notifications n LEFT JOIN accounts a ON a.id = n.actor_id AND \(isVisible("n.actor_id"))
        LEFT JOIN notification_counts c ON c.owner_id = n.owner_id
        WHERE n.owner_id = \(own) ORDER BY n.id
        """),
  ]

  private static let fandom = [
    Part(
      name: "celebs.json",
      sql: """
        SELECT c.platform, c.account, c.title, f.since, f.hearts AS count, f.hearted_at AS recent, f.note, f.position
        FROM celeb_fans f JOIN celebs c ON c.id = f.celeb_id
        WHERE f.account_id = \(own) AND f.since IS NOT NULL ORDER BY f.position, f.since, c.id
        """),
    Part(
      name: "hearts.json",
      sql: """
        SELECT c.platform, c.account, h.given_at AS "givenAt" FROM celeb_fans f JOIN celebs c ON c.id = f.celeb_id
        JOIN hearts h ON h.celeb_id = c.id AND h.account_id = f.account_id
        WHERE f.account_id = \(own) ORDER BY h.given_at
        """),
    Part(
      name: "agreements.json",
      sql: """
        SELECT g.id, g.sealed_at AS "sealedAt", g.expires_at AS "expiresAt", g.withdrawn_at AS "withdrawnAt",
          encode(c.copy, 'base64') AS copy
        FROM agreement_copies c JOIN agreements g ON g.id = c.agreement_id WHERE c.account_id = \(own) ORDER BY g.id
        """),
  ]

  private static let safety = [
    Part(
      name: "blocks.json",
      sql: """
        SELECT CASE WHEN r.is_blocked THEN '~' || a.id ELSE a.username END AS username, r.blocked_at AS "blockedAt",
          r.muted_at AS "mutedAt"
        FROM restrictions r JOIN accounts a ON a.id = r.other_id
        WHERE r.account_id = \(own) AND (r.blocked_at IS NOT NULL OR r.muted_at IS NOT NULL) ORDER BY a.id
        """),
    Part(
      name: "reports.json",
      sql: """
        SELECT id, subject, reason, text, created_at AS "createdAt", resolution FROM reports
        WHERE reporter_id = \(own) ORDER BY id
        """),
    Part(
      name: "notices.json",
      sql: """
        SELECT action, subject, reason, created_at AS "createdAt" FROM notices WHERE account_id = \(own) ORDER BY id
        """),
  ]
}
