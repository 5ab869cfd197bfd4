import DurableJobs
import DurableJobsTesting
import Logging
import Testing

struct CountView: Job {
  static let kind: JobKind = "products.view"
  static let queue: QueueName = "counts"
  var product: Int
}

struct AskStock: Job {
  static let kind: JobKind = "stock.ask"
  static let queue: QueueName = "counts"
  static let retry = RetryPolicy(maxAttempts: 2, base: .milliseconds(1), cap: .milliseconds(1))
  var product: Int
}

struct ViewsCounted: Job {
  static let kind: JobKind = "products.counted"
  static let queue: QueueName = "effects"
  var product: Int
  var views: Int
}

/// An external service that takes many requests at once, some of which fail.
private struct Warehouse: Sendable {
  func stock(of products: [Int]) async -> [Int: Int] {
    Dictionary(uniqueKeysWithValues: Set(products).filter { $0 != 13 }.map { ($0, $0 * 10) })
  }
}

@Suite(.timeLimit(.minutes(5))) struct BatchExamples {
  private let stage = Stage()
  private let warehouse = Warehouse()

  @Test func aBatchIsOneTransaction() async throws {
    var registry = JobRegistry<InMemoryLedger>()
    registry.registerBatch(CountView.self, upTo: 500) { batch, tx in
      let views = Dictionary(grouping: batch, by: \.job.product).mapValues(\.count)
      try await tx.enqueue(views.map { ViewsCounted(product: $0.key, views: $0.value) })
    }
    try await stage.client.enqueue((0..<300).map { CountView(product: $0 % 3) })
    try await stage.work(registry, Stage.configuration(concurrency: 64, queue: "counts")) { _ in
      try await stage.settled("counts")
    }
    #expect(try counted().map(\.views).reduce(0, +) == 300)
  }

  @Test func aBatchThatAsksOutsideEndsItsJobsByItself() async throws {
    let warehouse = warehouse
    var registry = JobRegistry<InMemoryLedger>()
    registry.registerBatch(AskStock.self, upTo: 50) { batch in
      let stock = await warehouse.stock(of: batch.jobs.map(\.job.product))
      for job in batch.jobs where stock[job.job.product] == nil {
        batch.fail(job, UnknownProduct())
      }
      let known = batch.jobs.filter { stock[$0.job.product] != nil }
      try await batch.transaction(ending: known) { live, tx in
        try await tx.enqueue(live.map { ViewsCounted(product: $0.job.product, views: stock[$0.job.product] ?? 0) })
      }
    }
    try await stage.client.enqueue([12, 13, 14].map { AskStock(product: $0) })
    try await stage.work(registry, Stage.configuration(queue: "counts")) { _ in try await stage.settled("counts") }
    #expect(Set(try counted().map(\.product)) == [12, 14])
    #expect(stage.ledger.dead.map(\.record.failures.count) == [2])
  }

  private struct UnknownProduct: Error {}

  private func counted() throws -> [ViewsCounted] {
    let ids = stage.ledger.pendingIDs(queue: "effects", after: nil, before: JobID(high: .max, low: 0), limit: 1000)
    return try stage.ledger.records(ids, queue: "effects").map { try ViewsCounted(payload: $0.payload, version: 1) }
  }
}
