import DurableJobs
import DurableJobsPostgres

/// The text search in payloads and errors, which matches only what is shown.
///
/// Which payloads may contain a secret does not depend on the text: Postgres returns all of these, and they are masked
/// and searched here; it searches the others itself. So a page's contents, the start of the next page and the time of
/// the search reveal nothing about masked values.
struct JobSearch {
  private let text: String?
  private let error: [UInt8]?
  private let bytes: [UInt8]?
  private let blotted: [[UInt8]]

  /// The number of rows per read after the first, if that did not fill the page.
  static let batch = 1000
  /// The most bytes of a payload that is read with its row, so that a batch of rows stays within a batch of bytes.
  /// Larger ones are read one by one.
  private static let carried = PayloadLimit.batch / batch

  init(_ filter: JobFilter) {
    text = filter.text
    bytes = filter.text.map { Array($0.utf8) }
    error = filter.error.map { Array($0.utf8) }
    // Longest first, since one may be a part of another.
    blotted = filter.blotted.map { Array($0.utf8) }.filter { !$0.isEmpty }.sorted { $0.count > $1.count }
  }

  /// Whether it may leave out jobs that Postgres returns.
  var isActive: Bool { text != nil || error != nil }

  /// The condition that Postgres checks; nil without a search text.
  var condition: PayloadCondition? {
    text.map { PayloadCondition(text: $0, orWords: SecretFields.words, carried: Self.carried) }
  }

  /// Whether a job that Postgres returned matches the search.
  ///
  /// - Parameter payload: reads a payload that is too large to come with its row; nil if the job has ended since.
  func isFound(_ job: FoundJob, payload: (JobRow) async throws -> String?) async throws -> Bool {
    if let error {
      // Errors are searched here and not by Postgres, which does not know what is masked in them.
      guard let found = job.row.error, blot(Array(found.utf8)).place(of: error) != nil else { return false }
    }
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
  /// The first position of `part`, byte for byte.
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
