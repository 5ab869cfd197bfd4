import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// The search for a text in payloads, which finds what is shown and nothing else.
///
/// Which payloads may have a secret in them does not depend on the text: Postgres hands all of these out, and they are
/// masked and searched here; the others it searches itself. So neither what a page lists, nor where the next one
/// begins, nor how long the look takes, tells of what is masked.
struct PayloadSearch {
  let text: String?
  private let bytes: [UInt8]?
  private let blotted: [[UInt8]]

  /// So many rows are asked for at a time, where the first did not make a page.
  static let batch = 1000
  /// The most bytes of a payload that comes with its row, so that a batch of rows has no more than a batch of bytes.
  /// Larger ones are read one by one.
  private static let carried = PayloadLimit.batch / batch

  init(_ filter: JobFilter) {
    text = filter.text
    bytes = filter.text.map { Array($0.utf8) }
    // The longest first: one may be a part of another.
    blotted = filter.blotted.map { Array($0.utf8) }.filter { !$0.isEmpty }.sorted { $0.count > $1.count }
  }

  /// What the condition needs beside the table. OFFSET 0 keeps Postgres from making the letters small for each word
  /// anew.
  var prepared: String {
    text == nil ? "" : #", LATERAL (SELECT lower(payload COLLATE "C") AS small OFFSET 0) AS prepared"#
  }

  /// The column that `isFound` needs, beside `queue` and `id`.
  var sought: String {
    let column = text == nil ? "NULL::text" : "CASE WHEN octet_length(payload) <= \(Self.carried) THEN payload END"
    return "\(column) AS sought"
  }

  /// Whether a row that Postgres let through is among those looked for.
  ///
  /// - Parameters:
  ///   - table: where the row is from.
  ///   - query: reads the payload where it is too large to come with the row.
  func isFound(
    _ row: PostgresRow, in table: String, _ query: (PostgresQuery) async throws -> PostgresRows
  ) async throws -> Bool {
    guard let bytes else { return true }
    if let payload = try row.decode(String?.self, named: "sought") { return isFound(bytes, in: payload) }
    let (queue, id) = (
      try row.decode(String.self, named: "queue"), try row.decode(PostgresUUID.self, named: "id")
    )
    let payload = try await query(
      "SELECT payload FROM \(unescaped: table) WHERE queue = \(queue) AND id = \(id)"
    ).decode(String.self).first
    // Without a row it has ended since the page was read.
    return payload.map { isFound(bytes, in: $0) } ?? false
  }

  private func isFound(_ bytes: [UInt8], in payload: String) -> Bool {
    blot(SecretFields.masked(Array(payload.utf8))).place(of: bytes) != nil
  }

  private func blot(_ payload: [UInt8]) -> [UInt8] {
    var rest = payload[...]
    for secret in blotted where rest.place(of: secret) != nil {
      var output: [UInt8] = []
      while let place = rest.place(of: secret) {
        output += rest[..<place]
        output += Array("••••••••".utf8)
        rest = rest[(place + secret.count)...]
      }
      rest = (output + rest)[...]
    }
    return Array(rest)
  }
}

extension PostgresQuery.StringInterpolation {
  /// What lets a row through that the search may find.
  mutating func appendInterpolation(_ search: PayloadSearch) {
    guard let text = search.text else { return appendLiteral("true") }
    appendLiteral("(strpos(payload, ")
    appendInterpolation(text)
    appendLiteral(") > 0 OR \(SecretFields.mayBe(in: "small")))")
  }
}

extension RandomAccessCollection<UInt8> where Index == Int {
  /// Where `part` is first found, byte for byte.
  func place(of part: [UInt8]) -> Int? {
    guard let first = part.first else { return startIndex }
    var from = startIndex
    while let found = self[from...].firstIndex(of: first) {
      if self[found...].starts(with: part) { return found }
      from = found + 1
    }
    return nil
  }
}
