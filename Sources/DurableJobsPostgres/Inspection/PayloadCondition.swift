import DurableJobs
import LibPQClient

/// A condition on payloads that Postgres checks row by row: it lets a payload through that has the text, letter for
/// letter, or one of the words, in capitals or not.
///
/// The words make a search independent of the text for payloads whose reader wants to look for himself, such as those
/// that may hold a secret.
package struct PayloadCondition: Sendable, Hashable {
  package let text: String
  /// In small letters, A to Z alone being made small.
  package let words: [String]
  /// The most bytes of a payload that comes with its row.
  package let carried: Int

  package init(text: String, orWords words: [String], carried: Int) {
    self.text = text
    self.words = words
    self.carried = carried
  }
}

/// A job that a listing found.
package struct FoundJob: Sendable {
  package let row: JobRow
  /// The payload, where the listing had a condition on it; nil where it is too large to come with its row.
  package let payload: String?

  init(_ row: PostgresRow) throws {
    self.row = try JobRow(row)
    payload = try row.decode(String?.self, named: "sought")
  }
}

extension PostgresQuery.StringInterpolation {
  /// The column `sought`, which a `FoundJob` has.
  mutating func appendInterpolation(soughtBy condition: PayloadCondition?) {
    guard let condition else { return appendLiteral("NULL::text AS sought") }
    appendLiteral("CASE WHEN octet_length(payload) <= ")
    appendInterpolation(condition.carried)
    appendLiteral(" THEN payload END AS sought")
  }

  /// What the condition needs behind the tables after `FROM`. OFFSET 0 keeps Postgres from making the letters small
  /// again for each word.
  mutating func appendInterpolation(preparedFor condition: PayloadCondition?) {
    if condition == nil { return }
    appendLiteral(#", LATERAL (SELECT lower(payload COLLATE "C") AS small OFFSET 0) AS prepared"#)
  }

  /// The condition itself.
  mutating func appendInterpolation(_ condition: PayloadCondition?) {
    guard let condition else { return appendLiteral("true") }
    appendLiteral("(strpos(payload, ")
    appendInterpolation(condition.text)
    appendLiteral(") > 0")
    for word in condition.words {
      appendLiteral(" OR strpos(small, ")
      appendInterpolation(word)
      appendLiteral(") > 0")
    }
    appendLiteral(")")
  }
}
