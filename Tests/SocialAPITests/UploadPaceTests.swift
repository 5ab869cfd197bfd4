import Testing

@testable import SocialAPI

@Suite struct UploadPaceTests {
  @Test func aBurstGoesOnAtOnceAndTheRestAtTheRate() {
    let start = ContinuousClock.now
    var pace = UploadPace(bytesPerSecond: 1000, burst: 500, at: start)
    func wait(_ bytes: Int, after seconds: Double) -> Duration {
      let now = start + .seconds(seconds)
      return max(.zero, pace.use(bytes, at: now) - now)
    }
    #expect(wait(250, after: 0) == .zero)
    #expect(wait(250, after: 0) == .zero)
    // Used up: each upload waits until those before it are paid for.
    #expect(wait(250, after: 0) == .zero)
    #expect(wait(250, after: 0) == .milliseconds(250))
    #expect(wait(100, after: 0.25) == .milliseconds(250))
    // A long pause allows one burst, no more.
    #expect(wait(500, after: 100) == .zero)
    #expect(wait(100, after: 100) == .zero)
    #expect(wait(100, after: 100) == .milliseconds(100))
  }
}
