import DurableJobs
import Foundation
import Testing

@testable import DurableJobsAdmin

/// Types that share these numbers encode them beside their own keys.
@Suite struct QueueNumbersTests {
  private func keys(_ value: some Encodable) throws -> Set<String> {
    let object = try JSONSerialization.jsonObject(with: try JSONEncoder().encode(value)) as? [String: Any]
    return Set(try #require(object).keys)
  }

  private var numbers: QueueNumbers {
    var numbers = QueueNumbers(queue: "fanout")
    (numbers.ready, numbers.delayed, numbers.claimed, numbers.workers) = (1, 2, 3, 4)
    (numbers.oldestWaiting, numbers.oldestRunning) = (5, 6)
    return numbers
  }

  private let shared: Set = [
    "queue", "ready", "delayed", "claimed", "workers", "isPaused", "oldestWaiting", "oldestRunning",
  ]

  @Test func aSummary() throws {
    let summary = QueueSummary(numbers, pending: 6, parked: 1)
    #expect(try keys(summary) == shared.union(["owed", "parked"]))
    #expect(try JSONDecoder().decode(QueueSummary.self, from: try JSONEncoder().encode(summary)) == summary)
    #expect(summary.ready == 1 && summary.oldestRunning == 6)
  }

  @Test func aSample() throws {
    var sample = StackSample.QueueSample(queue: "fanout")
    sample.numbers = numbers
    (sample.concurrency, sample.debt, sample.wanted) = (2.5, 7, 3)
    sample.load.note(QueueLoad.Flow(seconds: 5, ended: 50, runSeconds: 10, growth: 0), halfLife: 30)
    #expect(try keys(sample) == shared.union(["slots", "debt", "load", "wanted"]))
    #expect(try JSONDecoder().decode(StackSample.QueueSample.self, from: try JSONEncoder().encode(sample)) == sample)
  }

  @Test func aStep() throws {
    var counts = JobCounts()
    (counts.completed, counts.failed, counts.run, counts.wait) = (3, 1, .milliseconds(8), .milliseconds(4))
    let point = StatisticsPoint(at: Date(timeIntervalSince1970: 60), StatisticsTotals(counts))
    #expect(try keys(point) == ["at", "completed", "failed", "dead", "meanRun", "meanWait"])
    #expect(try JSONDecoder().decode(StatisticsPoint.self, from: try JSONEncoder().encode(point)) == point)
    #expect(point.meanRun == 0.002 && point.meanWait == 0.001)
  }
}
