import Foundation
import Testing

@testable import DurableJobsAdmin

@Suite("The doctor's look at clocks")
struct ClockTests {
  @Test(
    "A difference is fine below a second, told below half a minute, a failure above",
    arguments: [(0.2, Finding.Status.ok), (-0.9, .ok), (1.5, .warn), (-29, .warn), (31, .fail), (-3600, .fail)])
  func difference(seconds: Double, expected: Finding.Status) {
    let before = Date(timeIntervalSince1970: 1_000_000)
    let after = before.addingTimeInterval(0.1)
    let finding = Doctor.clock("Redis", before.addingTimeInterval(0.05 + seconds), before: before, after: after)
    #expect(finding.status == expected)
    #expect(finding.detail.contains(seconds < 0 ? "behind" : "ahead"))
    #expect((finding.advice == nil) == (expected == .ok))
  }
}
