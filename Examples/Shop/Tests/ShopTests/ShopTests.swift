import DurableJobs
import DurableJobsTesting
import Foundation
import Testing

@testable import shop

@Suite struct ShopTests {
  private func withPrinter(_ body: (Printer) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "shop-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try await body(Printer(folder: folder.path))
    try FileManager.default.removeItem(at: folder)
  }

  @Test func anOrdersReceiptIsPrinted() async throws {
    try await withPrinter { printer in
      let queue = TestQueue(ShopJobs.registry(printer, InMemoryLedger.self))
      try await queue.client.enqueue(SendReceipt(order: 7))
      #expect(try await queue.enqueued(SendReceipt.self).map(\.order) == [7])
      #expect(try await queue.drain() == Drained(completed: 1))
      let receipts = try FileManager.default.contentsOfDirectory(atPath: printer.folder)
      #expect(receipts.count == 1)
    }
  }

  @Test func aPrinterWithoutPaperIsADeadLetter() async throws {
    let queue = TestQueue(ShopJobs.registry(Printer(folder: "/nowhere"), InMemoryLedger.self))
    try await queue.client.enqueue(SendReceipt(order: 7))
    #expect(try await queue.drain(upTo: .hours(1)) == Drained(failed: 2, dead: 1))
    #expect(queue.dead.count == 1)
  }

  @Test func testOrdersAreDiscarded() async throws {
    let queue = TestQueue(ShopJobs.registry(Printer(folder: "/nowhere"), InMemoryLedger.self))
    await #expect(throws: JobDiscard("order -1 was a test")) { try await queue.runInline(SendReceipt(order: -1)) }
  }
}
