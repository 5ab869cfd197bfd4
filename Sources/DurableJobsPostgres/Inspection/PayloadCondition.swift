import DurableJobs
import LibPQClient

/// A condition on payloads, checked by Postgres row by row: a payload matches if it contains the text, byte for byte,
/// or one of the words, in either case.
///
/// The words select payloads independently of the text for a caller that searches those itself, such as payloads that
/// may contain a secret.
package struct PayloadCondition: Sendable, Hashable {
  package let text: String
  /// Lowercase; only A to Z are folded.
  package let words: [String]
  /// The most bytes of a payload that is returned with its row.
  package let carried: Int

  package init(text: String, orWords words: [String], carried: Int) {
    self.text = text
    self.words = words
    self.carried = carried
  }
}

/// A job found by a listing.
package struct FoundJob: Sendable {
  package let row: JobRow
  /// The payload, if the listing has a condition on it; nil if it is too large to be returned with its row.
  package let payload: String?

  init(_ row: PostgresRow) throws {
    self.row = try JobRow(row)
    payload = try row.decode(String?.self, named: "sought")
  }
}

extension PostgresQuery.StringInterpolation {
  /// The column `sought` for a `FoundJob`.
  mutating func appendInterpolation(soughtBy condition: PayloadCondition?) {
    guard let condition else { return appendLiteral("NULL::text AS sought") }
    appendLiteral("CASE WHEN octet_length(payload) <= ")
    appendInterpolation(condition.carried)
    appendLiteral(" THEN payload END AS sought")
  }

  /// The join that the condition needs after the tables in `FROM`. OFFSET 0 keeps Postgres from lowercasing the payload
  /// again for each word.
  mutating func appendInterpolation(preparedFor condition: PayloadCondition?) {
    if condition == nil { return }
    appendLiteral(#", LATERAL (SELECT lower(payload COLLATE "C") AS small OFFSET 0) AS prepared"#)
  }

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
