import DurableJobs
import DurableJobsPostgres

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

  /// What Postgres checks; nil where nothing is searched for.
  var condition: PayloadCondition? {
    text.map { PayloadCondition(text: $0, orWords: SecretFields.words, carried: Self.carried) }
  }

  /// Whether a job that Postgres let through is among those looked for.
  ///
  /// - Parameter payload: reads the payload where it is too large to come with its row; nil where the job has ended
  ///   since.
  func isFound(_ job: FoundJob, payload: (JobRow) async throws -> String?) async throws -> Bool {
    guard let bytes else { return true }
    if let payload = job.payload { return isFound(bytes, in: payload) }
    return try await payload(job.row).map { isFound(bytes, in: $0) } ?? false
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
