import Foundation
import Testing

@testable import DurableJobs

/// The decision on ticks, computed only from a state and the time. The schedule ticks every 10 seconds; moments are
/// seconds.
@Suite struct DecisionTests {
  private func moment(_ milliseconds: Int64) -> Date { Date(unixMilliseconds: milliseconds) }

  private func schedule(_ missed: MissedTicks, every interval: Duration = .seconds(10)) throws -> Schedule {
    Schedule("s", try .every(interval), missed: missed) { _ in Numbered(number: 1) }
  }

  private func decide(
    _ missed: MissedTicks, decidedUntil: Int64, now: Int64, grace: Int64 = 15,
    _ change: (inout ScheduleState) -> Void = { _ in }
  ) throws -> Decision {
    let schedule = try schedule(missed)
    var state = ScheduleState(beginning: schedule, at: moment(decidedUntil * 1000))
    change(&state)
    return Decision(schedule, state, now: now * 1000, grace: grace * 1000)
  }

  private func fired(_ missed: MissedTicks, decidedUntil: Int64, now: Int64, grace: Int64 = 15) throws -> [Int64] {
    try decide(missed, decidedUntil: decidedUntil, now: now, grace: grace).ticks.map { $0 / 1000 }
  }

  @Test func nothingIsDueBeforeTheNextTick() throws {
    let decision = try decide(.all, decidedUntil: 100, now: 109)
    #expect(decision.ticks.isEmpty && !decision.hasSkipped)
    #expect(decision.next == 110_000)
    #expect(
      decision.state == ScheduleState(beginning: try schedule(.all), at: moment(100_000)), "nothing is to be saved")
  }

  @Test(arguments: [MissedTicks.skip, .latest, .all])
  func ticksOnTimeFireWhateverHappensToMissedOnes(missed: MissedTicks) throws {
    #expect(try fired(missed, decidedUntil: 100, now: 110) == [110])
    #expect(try fired(missed, decidedUntil: 100, now: 125) == [110, 120])
    let decision = try decide(missed, decidedUntil: 100, now: 110)
    #expect(!decision.hasSkipped)
    #expect(decision.state.decidedUntil == moment(110_000))
    #expect(decision.state.lastTick == moment(110_000))
    #expect(decision.state.nextTick == moment(120_000) && decision.next == 120_000)
  }

  @Test func aFirstStartDoesNotFireThePast() throws {
    let schedule = try schedule(.all)
    let decision = Decision(
      schedule, ScheduleState(beginning: schedule, at: moment(115_000)), now: 115_000, grace: 15_000)
    #expect(decision.ticks.isEmpty)
    #expect(decision.next == 120_000)
  }

  @Test func missedTicksAreSkipped() throws {
    #expect(try fired(.skip, decidedUntil: 100, now: 1000) == [990, 1000])
    let decision = try decide(.skip, decidedUntil: 100, now: 1009, grace: 5)
    #expect(decision.ticks.isEmpty && decision.hasSkipped)
    #expect(decision.state.decidedUntil == moment(1_009_000))
    #expect(decision.state.lastTick == nil)
  }

  @Test func theLatestMissedTickFiresUnlessANewerOneIsOnTime() throws {
    #expect(try fired(.latest, decidedUntil: 100, now: 1009, grace: 5) == [1000])
    #expect(try fired(.latest, decidedUntil: 100, now: 1009, grace: 10) == [1000])
    #expect(try fired(.latest, decidedUntil: 100, now: 1012, grace: 5) == [1010])
    #expect(try decide(.latest, decidedUntil: 100, now: 1009, grace: 5).hasSkipped)
    #expect(try !decide(.latest, decidedUntil: 995, now: 1009, grace: 5).hasSkipped)
  }

  @Test func allMissedTicksFireUpToABound() throws {
    #expect(try fired(.all, decidedUntil: 100, now: 140, grace: 5) == [110, 120, 130, 140])
    #expect(try fired(.all(upTo: 2), decidedUntil: 100, now: 145, grace: 4) == [130, 140])
    #expect(try fired(.all(upTo: 2), decidedUntil: 100, now: 145, grace: 5) == [120, 130, 140])
    let decision = try decide(.all, decidedUntil: 0, now: 100_000, grace: 5)
    #expect(decision.ticks.count == 1001 && decision.hasSkipped)
    #expect(decision.ticks.first == 90_000_000)
    #expect(try fired(.all(upTo: -1), decidedUntil: 100, now: 1009, grace: 5).isEmpty)
  }

  @Test func aPausedScheduleFiresNothingAndIsLookedAtAgain() throws {
    let decision = try decide(.all, decidedUntil: 100, now: 140) { $0.pause() }
    #expect(decision.ticks.isEmpty && !decision.hasSkipped)
    #expect(decision.next == 150_000)
    #expect(decision.state.nextTick == nil && decision.state.decidedUntil == moment(100_000))
  }

  @Test func thePauseIsNotMadeUpFor() throws {
    let schedule = try schedule(.all)
    var state = ScheduleState(beginning: schedule, at: moment(100_000))
    state.pause()
    state.resume(schedule, at: moment(135_000))
    #expect(state.nextTick == moment(140_000))
    #expect(Decision(schedule, state, now: 139_000, grace: 15_000).ticks.isEmpty)
    #expect(Decision(schedule, state, now: 140_000, grace: 15_000).ticks == [140_000])
  }

  @Test func aChangedTimingBeginsAnew() throws {
    let decision = try decide(.all, decidedUntil: 100, now: 140) { state in
      state.timing = "every 7s"
      state.lastTick = moment(98_000)
    }
    #expect(decision.ticks.isEmpty)
    #expect(decision.state.timing == "every 10s")
    #expect(decision.state.decidedUntil == moment(140_000))
    #expect(decision.state.lastTick == moment(98_000))
    #expect(decision.next == 150_000)
  }

  @Test func aClockThatIsSetBackALittleFiresNothingTwice() throws {
    let decision = try decide(.all, decidedUntil: 110, now: 109)
    #expect(decision.ticks.isEmpty && !decision.isTakenBack)
    #expect(decision.state.decidedUntil == moment(110_000))
    #expect(decision.next == 120_000)
  }

  @Test func aDecisionAboutTheFutureIsTakenBack() throws {
    let day: Int64 = 86400
    let decision = try decide(.latest, decidedUntil: 105 + day, now: 105) { $0.lastTick = moment((100 + day) * 1000) }
    #expect(decision.isTakenBack)
    #expect(decision.ticks == [100_000], "within the grace; where it has fired, its note keeps it from firing again")
    #expect(decision.state.decidedUntil == moment(105_000) && decision.state.lastTick == moment(100_000))
    #expect(decision.next == 110_000)
    let paused = try decide(.latest, decidedUntil: 105 + day, now: 105) { $0.pause() }
    #expect(paused.isTakenBack && paused.ticks.isEmpty)
    #expect(paused.state.decidedUntil < moment(105_000))
    let changed = try decide(.all, decidedUntil: 105 + day, now: 105) { $0.timing = "every 7s" }
    #expect(changed.ticks.isEmpty && changed.state.decidedUntil == moment(105_000) && changed.next == 110_000)
  }

  @Test func atATimingThatNeverTicksNobodyLooksAgain() throws {
    let schedule = Schedule("never", try .cron("0 0 30 2 *", .gmt)) { _ in Numbered(number: 1) }
    let decision = Decision(
      schedule, ScheduleState(beginning: schedule, at: moment(0)), now: 1_000_000_000_000, grace: 0)
    #expect(decision.ticks.isEmpty && decision.next == nil)
  }
}
