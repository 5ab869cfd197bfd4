import Testing

@testable import DurableJobs

/// Handling of a measured difference between the system's clock and the ledger's. No test here sets this process'
/// clock.
@Suite struct JobClockTests {
  @Test func aSmallDifferenceIsLeftAlone() {
    #expect(JobClock.correction(of: .zero, measured: .milliseconds(40), error: .milliseconds(1)) == nil)
    #expect(JobClock.correction(of: .zero, measured: .milliseconds(-40), error: .milliseconds(1)) == nil)
    #expect(JobClock.correction(of: .seconds(3600), measured: .milliseconds(3_600_030), error: .zero) == nil)
  }

  @Test func aDifferenceBeyondTheErrorIsTaken() {
    for measured in [Duration.milliseconds(120), .milliseconds(-120), .seconds(3600), .seconds(-3600)] {
      #expect(JobClock.correction(of: .zero, measured: measured, error: .milliseconds(50)) == measured)
    }
  }

  @Test func aMeasurementThatTookLongSaysLittle() {
    #expect(JobClock.correction(of: .zero, measured: .milliseconds(900), error: .milliseconds(900)) == nil)
  }

  @Test func aClockThatIsRightAgainIsTrusted() {
    #expect(
      JobClock.correction(of: .seconds(3600), measured: .milliseconds(1), error: .milliseconds(1)) == .milliseconds(1))
  }
}
