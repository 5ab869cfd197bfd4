import Metrics
import Testing

@testable import Bootstrap

struct PrometheusTests {
  @Test func theTextIsWhatPrometheusReads() {
    let registry = PrometheusRegistry()
    registry.describe("jobs.done", "Jobs that were completed,\nby kind.")
    Counter(label: "jobs.done", dimensions: [("kind", "posts.fan-out"), ("a-b", "x\"y\\z\n")], factory: registry)
      .increment(by: 3)
    Counter(label: "jobs.done", dimensions: [("a-b", "x\"y\\z\n"), ("kind", "posts.fan-out")], factory: registry)
      .increment(by: 2)
    Counter(label: "jobs.done", dimensions: [("kind", "feed.trim")], factory: registry).increment()
    Meter(label: "queue_depth", factory: registry).set(41.5)
    Gauge(label: "9lives", factory: registry).record(-1)
    let timer = Timer(label: "job.run", factory: registry)
    timer.recordNanoseconds(400_000)
    timer.recordNanoseconds(1_000_000)
    timer.recordSeconds(61)
    let expected = """
      # HELP _9lives _9lives
      # TYPE _9lives gauge
      _9lives -1
      # HELP job_run_seconds job_run
      # TYPE job_run_seconds histogram
      job_run_seconds_bucket{le="0.0005"} 1
      job_run_seconds_bucket{le="0.001"} 2
      job_run_seconds_bucket{le="0.0025"} 2
      job_run_seconds_bucket{le="0.005"} 2
      job_run_seconds_bucket{le="0.01"} 2
      job_run_seconds_bucket{le="0.025"} 2
      job_run_seconds_bucket{le="0.05"} 2
      job_run_seconds_bucket{le="0.1"} 2
      job_run_seconds_bucket{le="0.25"} 2
      job_run_seconds_bucket{le="0.5"} 2
      job_run_seconds_bucket{le="1"} 2
      job_run_seconds_bucket{le="2.5"} 2
      job_run_seconds_bucket{le="5"} 2
      job_run_seconds_bucket{le="10"} 2
      job_run_seconds_bucket{le="30"} 2
      job_run_seconds_bucket{le="60"} 2
      job_run_seconds_bucket{le="120"} 3
      job_run_seconds_bucket{le="300"} 3
      job_run_seconds_bucket{le="600"} 3
      job_run_seconds_bucket{le="+Inf"} 3
      job_run_seconds_sum 61.0014
      job_run_seconds_count 3
      # HELP jobs_done_total Jobs that were completed,\\nby kind.
      # TYPE jobs_done_total counter
      jobs_done_total{a_b="x\\"y\\\\z\\n",kind="posts.fan-out"} 5
      jobs_done_total{kind="feed.trim"} 1
      # HELP queue_depth queue_depth
      # TYPE queue_depth gauge
      queue_depth 41.5

      """
    #expect(registry.scrape() == expected)
  }

  @Test func labelsFromOutsideCannotGrowTheMemory() {
    let registry = PrometheusRegistry(seriesLimit: 10)
    for number in 0..<1000 {
      Counter(label: "hits", dimensions: [("path", "/\(number)")], factory: registry).increment()
    }
    let lines = registry.scrape().split(separator: "\n").filter { $0.hasPrefix("hits_total{") }
    #expect(lines.count == 11)
    #expect(lines.contains("hits_total{path=\"other\"} 990"))
  }

  @Test func aGaugeThatNobodySetsAnyMoreIsWrittenNoMore() {
    let registry = PrometheusRegistry()
    let meters = ["b", "a", "c"].map { Meter(label: "depth", dimensions: [("queue", $0)], factory: registry) }
    for (number, meter) in meters.enumerated() { meter.set(number) }
    #expect(registry.scrape().hasSuffix("depth{queue=\"a\"} 1\ndepth{queue=\"b\"} 0\ndepth{queue=\"c\"} 2\n"))
    meters[0].destroy()
    #expect(registry.scrape().hasSuffix("depth{queue=\"a\"} 1\ndepth{queue=\"c\"} 2\n"))
    for meter in meters { meter.destroy() }
    #expect(registry.scrape() == "")
    Meter(label: "depth", dimensions: [("queue", "b")], factory: registry).set(7)
    #expect(registry.scrape().hasSuffix("depth{queue=\"b\"} 7\n"))
  }

  @Test func everyNumberIsWrittenAsItIs() {
    let registry = PrometheusRegistry()
    let meter = Meter(label: "n", factory: registry)
    let forms: [(Double, String)] = [
      (0, "0"), (-1, "-1"), (10, "10"), (-9_007_199_254_740_991, "-9007199254740991"), (0.25, "0.25"),
      (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"), (1e300, "1e+300"),
    ]
    for (number, form) in forms {
      meter.set(number)
      #expect(registry.scrape().hasSuffix("\nn \(form)\n"))
    }
  }

  @Test func aNameOfTwoKindsIsWrittenOnce() {
    let registry = PrometheusRegistry()
    Meter(label: "size", factory: registry).set(1)
    Recorder(label: "size", factory: registry).record(7)
    #expect(registry.scrape().split(separator: "\n").count { $0.hasPrefix("# TYPE") } == 1)
  }

  @Test func everyThreadsIncrementsCount() async {
    let registry = PrometheusRegistry()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<10_000 { Counter(label: "hits", factory: registry).increment() }
        }
      }
    }
    #expect(registry.scrape().contains("hits_total 80000\n"))
  }

  @Test func aProcessTellsOfItself() throws {
    let registry = PrometheusRegistry()
    ProcessMetrics.install(in: registry)
    var values: [Substring: Double] = [:]
    for line in registry.scrape().split(separator: "\n") where !line.hasPrefix("#") {
      let parts = line.split(separator: " ")
      values[parts[0]] = Double(parts[1])
    }
    #expect(try #require(values["process_resident_memory_bytes"]) > 1_000_000)
    #expect(try #require(values["process_cpu_seconds_total"]) > 0)
    #expect(try #require(values["process_open_fds"]) >= 3)
    #expect(try #require(values["process_start_time_seconds"]) > 1_700_000_000)
  }
}
