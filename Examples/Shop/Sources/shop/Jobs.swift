import DurableJobs
import Foundation

/// Prints an order's receipt into the printer's folder.
struct SendReceipt: Job {
  static let kind: JobKind = "orders.receipt"
  static let retry = RetryPolicy(maxAttempts: 3, base: .milliseconds(200), cap: .seconds(1))
  var order: Int
}

/// The shop's printer: a folder that takes receipts.
struct Printer: Sendable {
  var folder: String

  func print(_ receipt: String, as name: String) throws {
    try receipt.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
  }
}

enum ShopJobs {
  /// Handlers that need no SQL work on any ledger, and so in tests without a server.
  static func registry<L: Ledger>(_ printer: Printer, _ ledger: L.Type = L.self) -> JobRegistry<L> {
    var registry = JobRegistry<L>()
    registry.register(SendReceipt.self) { job, context in
      if job.order < 0 { throw JobDiscard("order \(job.order) was a test") }
      // The job's id names the file: a second delivery prints the same receipt into it.
      try printer.print("order \(job.order)\n", as: "\(context.id)")
    }
    return registry
  }
}
