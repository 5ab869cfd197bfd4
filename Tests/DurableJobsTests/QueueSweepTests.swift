import Testing

@testable import DurableJobs

/// When the relay compares which ids, without any server. A list of pending ids stands in for the queue.
@Suite struct QueueSweepTests {
  /// A queue whose ids are known, and a clock that moves only by the duration of steps.
  private struct Rig {
    var sweep: QueueSweep
    var now = ContinuousClock.now
    let start: ContinuousClock.Instant
    /// Milliseconds since 1970 at `start`.
    let base: Int64 = 1_800_000_000_000
    var pending: [JobID] = []
    var missing: Set<JobID> = []
    /// The duration of reading a range, by its bounds.
    var cost: (JobID, JobID) -> Duration = { _, _ in .milliseconds(1) }
    var found: [JobID: Duration] = [:]
    var reads = 0
    var spent = Duration.zero
    var steps: [QueueSweep.Step] = []
    /// The broker does not answer for a second if it is asked about more.
    var most = Int.max

    init(page: Int = 1000) {
      start = now
      sweep = QueueSweep(interval: .seconds(2), age: .seconds(2), page: page, at: now)
    }

    var time: Int64 { base + Int64(start.duration(to: now) / .milliseconds(1)) }

    func id(secondsAgo: Double, _ number: UInt64 = 0) -> JobID {
      JobID(high: UInt64(time - Int64(secondsAgo * 1000)) << 16 | 0x7000, low: number)
    }

    mutating func lose(_ id: JobID) {
      missing.insert(id)
      if !pending.contains(id) { pending.append(id) }
      pending.sort()
    }

    /// Runs the due steps until `duration` has passed.
    mutating func run(_ duration: Duration) {
      let end = now + duration
      while now < end {
        guard let step = sweep.next(at: now, time: time) else {
          now = max(now + .milliseconds(1), min(end, sweep.due))
          continue
        }
        steps.append(step)
        var outcome = QueueSweep.Outcome(ids: [])
        switch step {
        case .recheck(let ids): outcome.ids = ids
        case .page(let after, let before, let age, let limit):
          let young = JobID.min(atMilliseconds: time - Int64(age / .milliseconds(1)) + 1)
          let (low, high) = (firstIndex(above: after), firstIndex(from: min(before, young)))
          outcome.ids = low < high ? Array(pending[low..<high].suffix(limit).reversed()) : []
          outcome.read = cost(after, before)
          reads += 1
        case .oldest(let after, let limit):
          outcome.ids = Array(pending[firstIndex(above: after)...].prefix(limit))
        }
        if outcome.ids.count > most {
          now += .seconds(1)
          sweep.postpone(until: now + .milliseconds(500), isUnanswered: true)
          continue
        }
        if !missing.isEmpty { outcome.missing = outcome.ids.filter { missing.contains($0) } }
        outcome.took = outcome.read + .milliseconds(10)
        now += outcome.took
        spent += outcome.took
        for id in outcome.missing where missing.remove(id) != nil { found[id] = start.duration(to: now) }
        sweep.finish(outcome, of: step, at: now)
      }
    }

    private func firstIndex(above id: JobID) -> Int { firstIndex { $0 > id } }
    private func firstIndex(from id: JobID) -> Int { firstIndex { $0 >= id } }
    private func firstIndex(_ isBeyond: (JobID) -> Bool) -> Int {
      var (low, high) = (0, pending.count)
      while low < high {
        let middle = (low + high) / 2
        if isBeyond(pending[middle]) { high = middle } else { low = middle + 1 }
      }
      return low
    }
  }

  @Test func aSmallQueueIsReadOnceAnInterval() {
    var rig = Rig()
    rig.pending = (0..<500).map { rig.id(secondsAgo: Double(1000 - $0), UInt64($0)) }
    // The duration of reads is unknown at first.
    rig.run(.seconds(20))
    (rig.reads, rig.steps) = (0, [])
    rig.run(.seconds(60))
    #expect((28...31).contains(rig.reads), "\(rig.reads)")
    #expect(rig.steps.allSatisfy { if case .page = $0 { true } else { false } }, "and nothing else is asked")
  }

  @Test func whatWasLostIsFoundWithinTheIntervalWhereLittleIsPending() {
    var rig = Rig()
    rig.pending = (0..<10).map { rig.id(secondsAgo: Double(1000 - $0), UInt64($0)) }
    rig.run(.seconds(10))
    let lost = rig.id(secondsAgo: 900.5)
    rig.lose(lost)
    rig.run(.seconds(3))
    #expect(rig.found[lost] != nil)
  }

  @Test func withMillionsWaitingWhatWasLostLatelyIsFoundFirst() {
    var rig = Rig(page: 100)
    // 3,000 pages, 10 of them from the last minute.
    rig.pending = (0..<300_000).reversed().map { rig.id(secondsAgo: Double($0) / 20 + 5, UInt64($0)) }
    rig.run(.seconds(30))
    let begun = rig.start.duration(to: rig.now)
    // One whose push was just lost, one that the broker has forgotten since, and a very old one.
    let (new, recent, old) = (rig.id(secondsAgo: 0), rig.pending[rig.pending.count - 500], rig.pending[1000])
    for id in [new, recent, old] { rig.lose(id) }
    rig.run(.seconds(300))
    #expect(rig.found[new].map { $0 - begun < .seconds(5) } == true, "\(rig.found[new] ?? .zero)")
    #expect(rig.found[recent].map { $0 - begun < .seconds(15) } == true, "\(rig.found[recent] ?? .zero)")
    #expect(rig.found[old] != nil)
    #expect(rig.spent < .seconds(330) * 0.6, "looking must not compete with the work: \(rig.spent)")
  }

  @Test func aBrokerThatForgotAllIsFilledNewestFirstWithoutAPause() {
    var rig = Rig(page: 100)
    rig.pending = (0..<10_000).reversed().map { rig.id(secondsAgo: Double($0) + 5, UInt64($0)) }
    rig.run(.seconds(20))
    rig.missing = Set(rig.pending)
    rig.sweep.restart(at: rig.now, time: rig.time)
    let begun = rig.start.duration(to: rig.now)
    rig.run(.seconds(3))
    #expect(rig.missing.isEmpty && !rig.sweep.isRestarting)
    let order = rig.pending.compactMap { rig.found[$0] }
    #expect(order == order.sorted(by: >), "newest first")
    #expect(order.allSatisfy { $0 > begun })
  }

  @Test func deadEntriesAreNotWalkedAgainAndAgain() {
    var rig = Rig()
    // 5,000 jobs a second are done at once, and a snapshot keeps their entries: a microsecond each for every read past
    // them.
    let origin = rig.base
    for _ in 0..<900 {
      rig.run(.seconds(2))
      let now = rig.time
      rig.cost = { after, before in
        let (low, high) = (max(origin, after.milliseconds), min(now, before.milliseconds))
        return .milliseconds(1) + .microseconds(max(0, high - low) * 5)
      }
    }
    #expect(rig.spent < .seconds(1800) * 0.1, "\(rig.spent) of half an hour")
    // A job lost among them is found all the same.
    let begun = rig.start.duration(to: rig.now)
    let (new, old) = (rig.id(secondsAgo: 1), rig.id(secondsAgo: 1000))
    rig.lose(new)
    rig.lose(old)
    rig.run(.seconds(300))
    #expect(rig.found[new].map { $0 - begun < .seconds(10) } == true)
    #expect(rig.found[old] != nil)
  }

  @Test func aCostlyPassRestsForAsLongAsFiveMinutesAllow() {
    var rig = Rig()
    // Half a minute of reading: an hour of dead entries, 8 microseconds for each millisecond of ids.
    let (first, last) = (rig.base - 3_600_000, rig.base)
    rig.cost = { after, before in
      .milliseconds(1)
        + .microseconds(max(0, min(last, before.milliseconds) - max(first, after.milliseconds)) * 8)
    }
    rig.run(.seconds(600))
    let (begun, spent) = (rig.now, rig.spent)
    var lost: [(id: JobID, at: Duration)] = []
    for number in 1...40 {
      let id = JobID(high: UInt64(first + Int64(number) * 80_000) << 16 | 0x7000, low: UInt64(number))
      lost.append((id, rig.start.duration(to: rig.now)))
      rig.lose(id)
      rig.run(.seconds(37))
    }
    let share = (rig.spent - spent) / begun.duration(to: rig.now)
    #expect(share < 0.15, "\(share) of the time")
    rig.run(.seconds(300))
    for (id, at) in lost {
      #expect(rig.found[id].map { $0 - at < .seconds(300) } == true, "\(rig.found[id].map { $0 - at } ?? .zero)")
    }
  }

  @Test func anIDFromTheFutureIsReadByAPass() {
    var rig = Rig()
    let future = JobID(high: UInt64(rig.base + 3_600_000) << 16 | 0x7000, low: 1)
    guard case .page(_, let before, _, _) = rig.sweep.next(at: rig.now, time: rig.time) else {
      Issue.record("no page is read")
      return
    }
    #expect(before > future)
  }

  @Test func whatABrokerRefusedIsFilledInOldestFirst() {
    var rig = Rig(page: 10)
    rig.pending = (0..<95).reversed().map { rig.id(secondsAgo: Double($0), UInt64($0)) }
    rig.missing = Set(rig.pending.suffix(60))
    let lost = rig.pending.suffix(60)
    rig.sweep.drain(from: JobID.min(atMilliseconds: lost.first?.milliseconds ?? 0), at: rig.now)
    while rig.sweep.isDraining { rig.run(.milliseconds(10)) }
    let order = lost.compactMap { rig.found[$0] }
    #expect(order.count == 60 && order == order.sorted())
    rig.run(.seconds(5))
    #expect(rig.steps.contains { if case .page = $0 { true } else { false } }, "then it goes on as ever")
  }

  @Test func aFailureIsTriedAgainLater() {
    var rig = Rig(page: 10)
    rig.pending = (0..<95).reversed().map { rig.id(secondsAgo: Double($0) + 5, UInt64($0)) }
    rig.sweep.restart(at: rig.now, time: rig.time)
    let first = rig.sweep.next(at: rig.now, time: rig.time)
    rig.sweep.postpone(until: rig.now + .milliseconds(500))
    #expect(rig.sweep.next(at: rig.now, time: rig.time) == nil)
    #expect(rig.sweep.isRestarting)
    #expect(rig.sweep.next(at: rig.now + .milliseconds(500), time: rig.time) == first, "where it was")
  }

  @Test func aBrokerTooSlowForAPageIsAskedForLess() {
    var rig = Rig()
    rig.pending = (0..<20_000).reversed().map { rig.id(secondsAgo: 30 + Double($0) / 1000, UInt64($0)) }
    let old = rig.pending[7]
    rig.run(.seconds(20))
    rig.most = 100
    rig.lose(old)
    rig.sweep.restart(at: rig.now, time: rig.time)
    rig.run(.seconds(600))
    #expect(rig.found[old] != nil, "a pass goes on, a hundred ids at a time")
    rig.most = .max
    rig.steps = []
    rig.run(.seconds(200))
    let largest = rig.steps.map { if case .page(_, _, _, let limit) = $0 { limit } else { 0 } }.max()
    #expect(largest == 1000, "and asks for whole pages again")
  }
}
