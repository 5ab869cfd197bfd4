import SocialAdmin
import Testing

@testable import DurableJobsAdmin

@Suite struct AlarmLimitsTests {
  @Test func aQueueHasItsOwnLimitsOrThoseOfAll() throws {
    let limits = try AlarmLimits("*:waiting=1m,running=2h; feeds:waiting=500ms ;bulk:waiting=off,running=30s")
    #expect(limits.limit(of: "default", .waiting) == 60)
    #expect(limits.limit(of: "default", .running) == 7200)
    #expect(limits.limit(of: "feeds", .waiting) == 0.5)
    #expect(limits.limit(of: "feeds", .running) == 7200)
    #expect(limits.limit(of: "bulk", .waiting) == nil)
    #expect(limits.limit(of: "bulk", .running) == 30)
  }

  @Test func nothingSaidIsNoLimit() throws {
    #expect(try AlarmLimits("feeds:waiting=5s").limit(of: "other", .waiting) == nil)
    #expect(try AlarmLimits("feeds:waiting=5s").limit(of: "feeds", .running) == nil)
    #expect(try AlarmLimits("*:waiting=off,running=off").limit(of: "feeds", .waiting) == nil)
  }

  @Test func theStandardIsAsItIsWritten() throws {
    #expect(AlarmLimits.standard.text == "*:waiting=1m,running=10m")
    #expect(try AlarmLimits(AlarmLimits.app.text) == .app)
    #expect(AlarmLimits.app.limit(of: "fanout", .waiting) == 10)
  }

  @Test func aProgramGivesLimitsWithoutText() throws {
    let limits = AlarmLimits(
      .init(running: .seconds(7200)),
      queues: ["b": .init(waiting: .milliseconds(1500), running: .seconds(90)), "a": .init(waiting: .seconds(5))])
    #expect(limits.text == "*:running=2h;a:waiting=5s;b:waiting=1500ms,running=90s")
    #expect(try AlarmLimits(limits.text) == limits)
    #expect(limits.limit(of: "a", .waiting) == 5 && limits.limit(of: "a", .running) == 7200)
    #expect(limits.limit(of: "c", .waiting) == nil)
  }

  @Test(arguments: [
    ("feeds", "QUEUE:waiting=TIME"), ("a b:waiting=5s", "a queue's name"), ("feeds:sleeping=5s", "neither waiting"),
    ("feeds:waiting", "neither waiting"), ("feeds:waiting=5", "a time such as"), ("feeds:waiting=0s", "a time such as"),
    ("feeds:waiting=-5s", "a time such as"), ("feeds:waiting=5s,waiting=6s", "twice"),
    ("feeds:waiting=5s;feeds:running=5s", "twice"), ("feeds:", "neither waiting"), (":waiting=5s", "a queue's name"),
  ])
  func whatMeansNothingIsRefused(text: String, reason: String) {
    let refusal = #expect(throws: AlarmLimits.Refusal.self) { try AlarmLimits(text) }
    #expect(refusal?.description.contains(reason) == true, "\(refusal.map(\.description) ?? "")")
  }
}
