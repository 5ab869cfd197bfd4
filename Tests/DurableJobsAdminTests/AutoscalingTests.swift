import Testing

@testable import DurableJobsAdmin

@Suite struct AutoscalingTests {
  /// A queue simulated second by second: arrivals wait, and each worker ends at most `concurrency / runTime` jobs a
  /// second.
  private struct Simulation {
    var autoscaling = Autoscaling(minWorkers: 1, maxWorkers: 50)
    var runTime: Double
    var concurrency = 4.0
    var workers = 1
    var load = QueueLoad()
    var ready = 0.0
    var claimed = 0.0
    /// Fractions of jobs that have arrived or ended.
    private var arrivedParts = 0.0
    private var endedParts = 0.0
    var history: [Int] = []

    init(runTime: Double) { self.runTime = runTime }

    /// Advances five seconds, the time between two samples; then runs the wanted number of workers, as an autoscaler
    /// would.
    mutating func step(arrivals: Double) {
      let before = ready + claimed
      var ended = 0
      for _ in 0..<50 {
        arrivedParts += arrivals / 10
        let arrived = arrivedParts.rounded(.down)
        arrivedParts -= arrived
        ready += arrived
        let busy = min(ready + claimed, Double(workers) * concurrency)
        endedParts += busy / runTime / 10
        let done = min(endedParts.rounded(.down), ready + claimed)
        endedParts -= endedParts.rounded(.down)
        let inHand = ready + claimed - done
        claimed = min(inHand, Double(workers) * concurrency)
        ready = inHand - claimed
        ended += Int(done)
      }
      load.note(
        QueueLoad.Flow(
          seconds: 5, ended: ended, runSeconds: Double(ended) * runTime, growth: Int(ready + claimed - before)),
        halfLife: autoscaling.halfLife)
      workers = autoscaling.wanted(load, ready: Int(ready), claimed: Int(claimed), concurrency: concurrency)
      history.append(workers)
    }

    mutating func run(minutes: Double, arrivals: Double) { for _ in 0..<Int(minutes * 12) { step(arrivals: arrivals) } }
  }

  @Test(arguments: [(20.0, 0.1, 1), (100.0, 0.1, 4), (400.0, 0.02, 3), (3.0, 2.0, 2), (0.5, 30.0, 5)])
  func aSteadyStreamGetsTheWorkersThatItKeepsBusy(arrivals: Double, runTime: Double, expected: Int) {
    var queue = Simulation(runTime: runTime)
    queue.run(minutes: 15, arrivals: arrivals)
    // ⌈λ·S ÷ (c·ρ)⌉, c = 4 and ρ = 0.8, and at most one above it while the last of the backlog drains.
    #expect(Set(queue.history.suffix(24)).isSubset(of: [expected, expected + 1]), "\(queue.history)")
    #expect(queue.history.suffix(24).allSatisfy { Double($0) * queue.concurrency > arrivals * runTime })
    #expect(queue.ready <= arrivals * 5)
  }

  @Test func aBurstIsGoneInTimeAndTheWorkersGoWithIt() {
    var queue = Simulation(runTime: 0.05)
    queue.run(minutes: 5, arrivals: 20)
    #expect(queue.workers == 1)
    queue.ready += 20_000  // A thousand slot-seconds: one worker alone would take five minutes and more.
    var steps = 0
    while queue.ready > 100, steps < 100 {
      queue.step(arrivals: 20)
      steps += 1
    }
    #expect(steps * 5 <= 200, "\(queue.history)")
    #expect(queue.history.max() ?? 0 >= 5)
    queue.run(minutes: 10, arrivals: 20)
    #expect(queue.workers == 1)
  }

  @Test func itNeitherSwingsNorPassesItsBounds() {
    var queue = Simulation(runTime: 0.2)
    queue.autoscaling = Autoscaling(minWorkers: 2, maxWorkers: 10)
    for arrivals in [0, 5, 300, 300, 20, 0] { queue.run(minutes: 6, arrivals: Double(arrivals)) }
    #expect(queue.history.allSatisfy { (2...10).contains($0) })
    #expect(queue.history.last == 2)
    // Changing direction between two samples would start and stop workers for nothing.
    let changes = zip(queue.history, queue.history.dropFirst()).filter { $0 != $1 }.count
    #expect(changes <= 40, "\(queue.history)")
  }

  @Test func aQueueWithoutWorkMayHaveNoWorkerAndOneWithWorkHasOne() {
    let autoscaling = Autoscaling(minWorkers: 0, maxWorkers: 5)
    #expect(autoscaling.wanted(QueueLoad(), ready: 0, claimed: 0, concurrency: 4) == 0)
    #expect(autoscaling.wanted(QueueLoad(), ready: 1, claimed: 0, concurrency: 4) == 1)
    #expect(autoscaling.wanted(QueueLoad(), ready: 0, claimed: 1, concurrency: 4) == 1)
    var queue = Simulation(runTime: 0.1)
    queue.autoscaling = autoscaling
    queue.run(minutes: 5, arrivals: 10)
    #expect(queue.workers == 1)
    queue.run(minutes: 15, arrivals: 0)
    #expect(queue.workers == 0)
  }

  @Test func whatIsNotKnownYetIsGuessedCautiously() {
    let autoscaling = Autoscaling(minWorkers: 1, maxWorkers: 100)
    // A thousand jobs, none ended: a tenth of a second each, or as long as the oldest has run.
    #expect(autoscaling.wanted(QueueLoad(), ready: 1000, claimed: 0, concurrency: 4) == 2)
    #expect(autoscaling.wanted(QueueLoad(), ready: 1000, claimed: 4, concurrency: 4, longest: 3) == 32)
    #expect(autoscaling.wanted(QueueLoad(), ready: 1_000_000_000, claimed: 4, concurrency: 0, longest: 1e9) == 100)
  }

  @Test func whatWasSeenFadesByHalfInAHalfLife() {
    var load = QueueLoad()
    load.note(QueueLoad.Flow(seconds: 5, ended: 50, runSeconds: 10, growth: 0), halfLife: 30)
    #expect(abs(load.arrivalRate - 10) < 1e-9)
    #expect(abs((load.runTime ?? 0) - 0.2) < 1e-9)
    for _ in 0..<100 { load.note(QueueLoad.Flow(seconds: 5, ended: 50, runSeconds: 10, growth: 0), halfLife: 30) }
    for _ in 0..<6 { load.note(QueueLoad.Flow(seconds: 5, ended: 0, runSeconds: 0, growth: 0), halfLife: 30) }
    #expect(abs(load.arrivalRate - 5) < 0.01)
    #expect(abs((load.runTime ?? 0) - 0.2) < 1e-9)
    // Removed jobs do not count as negative arrivals.
    load.note(QueueLoad.Flow(seconds: 5, ended: 0, runSeconds: 0, growth: -1_000_000), halfLife: 30)
    #expect(load.arrivalRate == 0)
  }
}
