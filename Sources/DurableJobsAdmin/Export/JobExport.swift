import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Writes pending jobs or dead letters as JSON lines, one job a line, as of one moment.
public struct JobExport: Sendable {
  /// The jobs to export.
  public enum Which: Sendable {
    case pending
    case dead
  }

  fileprivate struct Line: Encodable {
    let id: String
    let kind: String
    let queue: String
    let version: Int
    let priority: String
    let attempts: Int
    let createdAt: Date
    let runAt: Date?
    let diedAt: Date?
    let uniqueKey: String?
    let isParked: Bool
    let payload: String
    let failures: [JobFailure]
  }

  private static let page = 5000

  private let which: Which
  private let path: String

  /// - Parameter path: compressed with gzip if it ends in `.gz`; `-` is standard output.
  public init(_ which: Which, to path: String) {
    self.which = which
    self.path = path
  }

  /// - Returns: the number of lines written.
  /// - Throws: `.noOutput` for a file that cannot be written; then no file is left.
  public func run(on database: JobsDatabase, progress: @Sendable (Int) -> Void = { _ in }) async throws -> Int {
    try await database.pool.transaction(.snapshot) { transaction in
      let file = try ExportFile(path: path)
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      encoder.dateEncodingStrategy = .iso8601
      var count = 0
      var last: JobRow?
      while true {
        let page =
          switch which {
          case .pending:
            try await database.schema.pendingPage(
              after: last.map { ($0.queue, $0.id) }, limit: Self.page, in: transaction)
          case .dead: try await database.schema.deadPage(after: last?.id, limit: Self.page, in: transaction)
          }
        for job in page { try await file.write(line: try encoder.encode(Line(job))) }
        count += page.count
        progress(count)
        guard let end = page.last else { break }
        last = end.row
      }
      try await file.finish()
      return count
    }
  }
}

extension JobExport.Line {
  fileprivate init(_ job: WholeJob) {
    let row = job.row
    self.init(
      id: row.id.description, kind: row.kind.rawValue, queue: row.queue.rawValue, version: job.version,
      priority: "\(row.priority)", attempts: row.attempts, createdAt: row.createdAt, runAt: row.runAt,
      diedAt: row.finishedPlace?.at, uniqueKey: row.uniqueKey, isParked: row.place == .pending(.parked),
      payload: job.payload, failures: job.failures)
  }
}
