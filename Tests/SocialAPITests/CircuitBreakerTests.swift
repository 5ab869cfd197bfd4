import Testing

@testable import SocialAPI

struct CircuitBreakerTests {
  @Test func oneCallerASecondAsksAServerThatDoesNotAnswer() {
    let breaker = CircuitBreaker()
    let start = ContinuousClock.now
    #expect(breaker.admits(at: start) && breaker.admits(at: start) && !breaker.isOpen)
    #expect(breaker.failed(at: start) == .opened)
    #expect(breaker.failed(at: start) == nil, "those that were under way change nothing")
    #expect(breaker.isOpen)
    for second in 1...5 {
      let moment = start + .seconds(second)
      #expect(!breaker.admits(at: moment - .milliseconds(1)))
      #expect(breaker.admits(at: moment))
      #expect(!breaker.admits(at: moment), "one asks, the others go without")
      _ = breaker.failed(at: moment)
    }
    #expect(breaker.admits(at: start + .seconds(6)))
    #expect(breaker.succeeded() == .closed)
    #expect(breaker.succeeded() == nil)
    #expect(breaker.admits(at: start + .seconds(6)) && breaker.admits(at: start + .seconds(6)))
  }

  /// A caller that was let through and never reports an outcome blocks no other.
  @Test func anAttemptWithoutAnOutcomeIsFollowedByAnother() {
    let breaker = CircuitBreaker()
    let start = ContinuousClock.now
    breaker.failed(at: start)
    #expect(breaker.admits(at: start + .seconds(1)))
    #expect(breaker.admits(at: start + .seconds(2)))
  }
}
