import DurableJobs
import DurableJobsAdmin
import Foundation
import Social
import SocialAdmin
import TestSupport
import Testing

@testable import Bootstrap

/// A worker's slots and connections match, whichever of them is set.
struct WorkerSizeTests {
  private let known = JobKinds.app.queues

  private func size(_ environment: [String: String] = [:]) throws -> WorkerSize {
    try Settings.read(environment: environment).workerSize(known: known)
  }

  @Test func byDefaultEachSlotHasAConnection() throws {
    let size = try size()
    #expect(
      size.concurrency == [
        .default: 2, "fanout": 4, "fanout-bulk": 1, "hearts": 2, "lookups": 16, "mail": 2, "notifications": 2,
        "pictures": 2, "rankings": 1, "webhooks": 16,
      ])
    #expect(size.connections == WorkerConnections(pool: WorkerSize.usualPool, kept: 7, jobs: 21))
    #expect(size.fits && size.redisConnections == 11)
  }

  @Test func aPoolThatIsSetBoundsTheSlots() throws {
    let small = try size(["FANMILL_POSTGRES_POOL": "13"])
    #expect(small.connections.jobs == 11 && small.connections.pool == 13)
    #expect(small.concurrency["lookups"] == 4 && small.totalConcurrency == 22, "\(small.concurrency)")
    #expect(small.concurrency["fanout"] == 2 && small.concurrency["fanout-bulk"] == 1)
    // Each queue is served all the same.
    let tiny = try size(["FANMILL_POSTGRES_POOL": "3"])
    #expect(
      tiny.concurrency
        == Dictionary(uniqueKeysWithValues: known.map { ($0, ["lookups": 4, "pictures": 2, "webhooks": 8][$0] ?? 1) })
        && !tiny.fits)
    let large = try size(["FANMILL_POSTGRES_POOL": "1000"])
    #expect(
      large.concurrency["fanout"] == 16 && large.concurrency["fanout-bulk"] == 1 && large.connections.pool == 1000)
  }

  @Test func slotsThatAreSetBringTheirConnections() throws {
    let many = try size(["FANMILL_WORKER_CONCURRENCY": "16"])
    #expect(many.concurrency["fanout"] == 16 && many.concurrency["hearts"] == 2)
    #expect(many.fits && many.connections.pool == many.connections.jobs + 2)
    let named = try size(["FANMILL_QUEUES": "fanout:40,default"])
    #expect(named.concurrency == ["fanout": 40, .default: 2] && named.connections.pool == 44)
    let one = try size(["FANMILL_QUEUES": "fanout"])
    #expect(one.concurrency == ["fanout": 16] && one.connections.pool == 18 && one.redisConnections == 2)
  }

  @Test func whatIsSetByHandStaysAsItIs() throws {
    let size = try size(["FANMILL_WORKER_CONCURRENCY": "16", "FANMILL_POSTGRES_POOL": "10"])
    #expect(size.concurrency["fanout"] == 16 && size.connections.pool == 10 && !size.fits)
  }

  @Test func whatIsOffTakesNoConnection() throws {
    #expect(try size(["FANMILL_SCHEDULER": "off", "FANMILL_WORKER_PORT": "0"]).connections.total == 28)
  }

  @Test func itFitsUnlessBothAreSet() throws {
    var random = SeededGenerator("worker sizes")
    for _ in 0..<500 {
      var environment: [String: String] = [:]
      let (setsPool, setsSlots) = (Bool.random(using: &random), Bool.random(using: &random))
      var queues = known
      if Bool.random(using: &random) {
        queues = Array(known.shuffled(using: &random).prefix(.random(in: 1...known.count, using: &random)))
      }
      let limits = queues.map { _ in
        Int.random(in: 0...4, using: &random) == 0 ? Int.random(in: 1...50, using: &random) : nil
      }
      let entries = zip(queues, limits).map { queue, limit in limit.map { "\(queue):\($0)" } ?? queue.rawValue }
      environment["FANMILL_QUEUES"] = entries.joined(separator: ",")
      let pool = Int.random(in: 1...120, using: &random)
      if setsPool { environment["FANMILL_POSTGRES_POOL"] = "\(pool)" }
      if setsSlots { environment["FANMILL_WORKER_CONCURRENCY"] = "\(Int.random(in: 1...64, using: &random))" }
      let size = try size(environment)
      #expect(
        Set(size.concurrency.keys) == Set(queues) && size.concurrency.values.allSatisfy { $0 >= 1 }, "\(environment)")
      for (queue, limit) in zip(queues, limits) {
        if let limit { #expect(size.concurrency[queue] == limit, "\(environment)") }
      }
      let least = limits.reduce(0) { $0 + ($1 ?? 1) }
      if !setsPool || (!setsSlots && pool >= least + 2) {
        #expect(size.fits, "\(environment)")
      }
      if !setsPool { #expect(size.connections.pool == size.connections.jobs + 2, "\(environment)") }
    }
  }

  /// The documented numbers for operators are those of the program.
  @Test func theDocumentationNamesTheSize() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    func page(_ path: String) throws -> String {
      try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
    let size = try size()
    let settings = try page("docs/settings.md")
    let concurrency = size.concurrency.sorted { $0.key < $1.key }.map { "`\($0.key)` \($0.value)" }.joined(
      separator: ", ")
    #expect(settings.contains(concurrency), "\(concurrency)")
    let sum = "\(size.totalConcurrency) jobs at once, \(size.connections.pool) pooled connections"
    #expect(settings.contains(sum), "\(sum)")
    let kept = size.connections.total - size.connections.pool
    for (path, text) in [
      ("docs/servers.md", "`FANMILL_POSTGRES_POOL` + \(kept) (\(size.connections.total))"),
      ("docs/servers.md", "queues + 1 (\(size.redisConnections))"),
      ("docs/operations.md", "≥ \(size.connections.total) × workers"),
      ("deploy/kubernetes/keda.yaml", "up to \(size.connections.total) connections"),
    ] {
      #expect(try page(path).contains(text), "\(path): \(text)")
    }
  }
}
