import Foundation
import LibPQClient

/// Stores channels and answers.
public enum ChannelStore {
  /// A stored answer.
  struct Kept: Sendable {
    var channels: [Channel]
    var fetchedAt: Date
  }

  /// The latest answer to a question, if it is not older than `oldest`; otherwise nil.
  static func answer(
    to question: ChannelQuestion, since oldest: Date, in reader: some SocialReader
  ) async throws -> Kept? {
    let rows = try await reader.rows(answerQuery(question, since: oldest))
    return try kept(rows)
  }

  static func answerQuery(_ question: ChannelQuestion, since oldest: Date) -> PostgresQuery {
    // A channel found by a search also answers the question for its id.
    """
    SELECT answer.fetched_at, \(unescaped: Channel.columns)
    FROM (
      SELECT channels, fetched_at FROM channel_answers WHERE question = \(question.key)
      UNION ALL SELECT ARRAY[id], fetched_at FROM channels WHERE id = \(question.channelID)
      ORDER BY fetched_at DESC LIMIT 1
    ) answer
    LEFT JOIN LATERAL unnest(answer.channels) WITH ORDINALITY AS hit (id, place) ON true
    LEFT JOIN channels c ON c.id = hit.id
    WHERE answer.fetched_at > \(oldest) ORDER BY hit.place
    """
  }

  static func kept(_ rows: PostgresRows) throws(PostgresError) -> Kept? {
    guard let first = rows.first else { return nil }
    var kept = Kept(channels: [], fetchedAt: try Date(postgres: first[0]))
    for row in rows where !row[1].isNull { kept.channels.append(try Channel(row: row, from: 1)) }
    return kept
  }

  /// A stored channel; nil if there is none.
  public static func channel(_ id: String, in reader: some SocialReader) async throws -> Channel? {
    let rows = try await reader.rows("SELECT \(unescaped: Channel.columns) FROM channels c WHERE c.id = \(id)")
    return try rows.first.map { try Channel(row: $0) }
  }

  /// Channels whose titles or handles contain all words, best match first.
  static func channels(
    with words: String, since oldest: Date, limit: Int, in reader: some SocialReader
  ) async throws -> [Channel] {
    try await reader.rows(
      """
      SELECT \(unescaped: Channel.columns)
      FROM search_channels(\(words), \(oldest), \(limit)) WITH ORDINALITY AS found (id, place)
      JOIN channels c ON c.id = found.id ORDER BY place
      """
    ).map { try Channel(row: $0) }
  }

  // MARK: Write

  /// The statements that store answers with their channels.
  static func keep(_ answers: [(question: ChannelQuestion, answer: YouTubeAnswer)], at date: Date) -> [PostgresQuery] {
    if answers.isEmpty { return [] }
    var seen: [String: (channel: Channel, hasDetails: Bool)] = [:]
    for (question, answer) in answers {
      let hasDetails = question.hasDetails
      for channel in answer.channels where seen[channel.id]?.hasDetails != true {
        seen[channel.id] = (channel, hasDetails)
      }
    }
    let answers = answers.sorted { $0.question.key < $1.question.key }
    let keepAnswers: PostgresQuery = """
      INSERT INTO channel_answers AS kept (question, channels, etag, fetched_at)
      SELECT question, string_to_array(channels, ','), etag, \(date)
      FROM unnest(\(answers.map(\.question.key)),
        \(answers.map { $0.answer.channels.map(\.id).joined(separator: ",") }), \(answers.map(\.answer.etag)))
        AS new (question, channels, etag)
      ON CONFLICT (question) DO UPDATE SET
        channels = excluded.channels, etag = excluded.etag, fetched_at = excluded.fetched_at
      WHERE kept.fetched_at <= excluded.fetched_at
      """
    return [keepAnswers] + keep(channels: seen.values.map { $0 }, at: date)
  }

  /// The statements that store channels, each once.
  static func keep(channels: [(channel: Channel, hasDetails: Bool)], at date: Date) -> [PostgresQuery] {
    if channels.isEmpty { return [] }
    let sorted = channels.sorted { $0.channel.id < $1.channel.id }
    let all = sorted.map(\.channel)
    return lock(all.map(\.id)) + [
      """
      INSERT INTO channels AS kept
        (id, title, handle, thumbnail, published_at, subscribers, has_details, fetched_at)
      SELECT id, title, handle, thumbnail, published_at, subscribers, has_details, \(date)
      FROM unnest(\(all.map(\.id)), \(all.map(\.title)), \(all.map(\.handle)), \(all.map(\.thumbnail)),
        \(all.map(\.publishedAt)), \(all.map(\.subscribers)), \(sorted.map(\.hasDetails)))
        AS new (id, title, handle, thumbnail, published_at, subscribers, has_details)
      ON CONFLICT (id) DO UPDATE SET title = excluded.title,
        thumbnail = excluded.thumbnail, published_at = excluded.published_at,
        handle = CASE WHEN excluded.has_details THEN excluded.handle ELSE kept.handle END,
        subscribers = CASE WHEN excluded.has_details THEN excluded.subscribers ELSE kept.subscribers END,
        has_details = kept.has_details OR excluded.has_details,
        -- Details are as old as they were: what a search says does not make them newer.
        fetched_at = CASE WHEN kept.has_details AND NOT excluded.has_details THEN kept.fetched_at
          ELSE excluded.fetched_at END
      WHERE kept.fetched_at <= excluded.fetched_at
      """
    ]
  }

  /// Deletes channels that YouTube does not know and marks their celebs as unknown, except for channels fetched again
  /// since.
  static func forget(_ ids: Set<String>, at date: Date, in pool: PostgresPool) async throws {
    if ids.isEmpty { return }
    let ids = ids.sorted()
    _ = try await pool.transaction { transaction in
      // With the celebs locked, the last statement sees a channel that was stored meanwhile.
      try await transaction.pipeline(
        lock(ids) + [
          "DELETE FROM channels WHERE id = ANY(\(ids)) AND fetched_at < \(date)",
          """
          UPDATE celebs c SET state = 'unknown' WHERE platform = 'youtube' AND account = ANY(\(ids))
            AND state <> 'unknown' AND NOT EXISTS (SELECT FROM channels k WHERE k.id = c.account)
          """,
        ])
    }
  }

  /// The statements that lock channels before they are written, and first their celebs, whose states change with them.
  /// They run once per transaction, so that no two deadlock.
  ///
  /// - Parameter confirmed: questions whose answers are confirmed in the same transaction.
  static func lock(_ ids: [String], confirmed: [ChannelQuestion] = []) -> [PostgresQuery] {
    let all: PostgresQuery = """
      SELECT unnest(\(ids)) UNION SELECT unnest(channels) FROM channel_answers
      WHERE question = ANY(\(confirmed.map(\.key)))
      """
    return [
      "SELECT FROM celebs WHERE platform = 'youtube' AND account IN (\(all)) ORDER BY id FOR NO KEY UPDATE",
      "SELECT FROM channels WHERE id IN (\(all)) ORDER BY id FOR UPDATE",
    ]
  }

  /// The statements that refresh answers which the API reports as unchanged.
  static func confirm(_ questions: [ChannelQuestion], at date: Date) -> [PostgresQuery] {
    if questions.isEmpty { return [] }
    let keys = questions.map(\.key).sorted()
    return [
      "UPDATE channel_answers SET fetched_at = \(date) WHERE question = ANY(\(keys)) AND fetched_at < \(date)",
      """
      WITH confirmed AS (
        SELECT c.id FROM channel_answers answer, unnest(answer.channels) AS hit (id) JOIN channels c ON c.id = hit.id
        WHERE answer.question = ANY(\(keys)) AND (answer.question NOT LIKE 'text:%' OR NOT c.has_details)
          AND c.fetched_at < \(date)
        ORDER BY c.id FOR UPDATE OF c
      )
      UPDATE channels c SET fetched_at = \(date) FROM confirmed WHERE c.id = confirmed.id
      """,
    ]
  }
}

extension ChannelQuestion {
  /// Whether an answer includes every stored detail of a channel.
  var hasDetails: Bool {
    if case .text = form { false } else { true }
  }
}
