import Testing

@testable import LibPQClient

@Suite struct PipelineTests {
  let one = StatementCache.Key(sql: "SELECT 1", types: [])

  @Test func aRequestIsOverWithItsSync() {
    var pipeline = Pipeline()
    pipeline.sent(1, [.prepare(one), .execute(one)])
    pipeline.sent(2, [.execute(one)])
    #expect(pipeline.head == 1 && pipeline.count == 2)
    #expect(pipeline.received(.done) == .confirm(one))
    #expect(pipeline.received(.done) == .deliver(1))
    #expect(pipeline.received(.synced) == .finish(1))
    #expect(pipeline.received(.failed) == .fail(2, statement: one))
    #expect(pipeline.received(.synced) == .finish(2))
    #expect(pipeline.isIdle)
    #expect(pipeline.received(.done) == .confused)
  }

  @Test func afterAFailureTheRestIsSkippedAndPreparedNot() {
    var pipeline = Pipeline()
    let two = StatementCache.Key(sql: "SELECT 2", types: [20])
    pipeline.sent(7, [.housekeeping, .prepare(one), .execute(one), .prepare(two), .execute(two)])
    #expect(pipeline.received(.done) == .none)
    #expect(pipeline.received(.failed) == .forget(one, failed: 7))
    #expect(pipeline.received(.skipped) == .none)
    #expect(pipeline.received(.skipped) == .forget(two, failed: nil))
    #expect(pipeline.received(.skipped) == .none)
    #expect(pipeline.received(.synced) == .finish(7))
  }

  @Test func aSyncTooEarlyOrTooLateIsConfusion() {
    var pipeline = Pipeline()
    pipeline.sent(1, [.execute(nil)])
    #expect(pipeline.received(.synced) == .confused)
    #expect(pipeline.received(.done) == .deliver(1))
    #expect(pipeline.received(.done) == .confused)
  }
}

@Suite struct StatementCacheTests {
  private func key(_ number: Int) -> StatementCache.Key { StatementCache.Key(sql: "\(number)", types: []) }

  @Test func theOneUsedLongestAgoGoes() {
    var cache = StatementCache(capacity: 2)
    #expect(cache.use(key(1), by: 1) == .prepare(name: "s1"))
    #expect(cache.use(key(1), by: 1) == .prepared(name: "s1"))
    #expect(cache.use(key(1), by: 2) == .unnamed)
    cache.confirm(key(1))
    #expect(cache.use(key(2), by: 2) == .prepare(name: "s2"))
    cache.confirm(key(2))
    #expect(cache.use(key(1), by: 3) == .prepared(name: "s1"))
    #expect(cache.use(key(3), by: 3) == .prepare(name: "s3"))
    #expect(cache.takeDiscarded() == ["s2"])
    #expect(cache.takeDiscarded().isEmpty)
    cache.forget(key(3))
    #expect(cache.use(key(3), by: 4) == .prepare(name: "s4"))
    #expect(cache.takeDiscarded().isEmpty)
  }

  @Test func whatIsBeingPreparedStays() {
    var cache = StatementCache(capacity: 1)
    #expect(cache.use(key(1), by: 1) == .prepare(name: "s1"))
    #expect(cache.use(key(2), by: 1) == .unnamed)
    cache.confirm(key(1))
    #expect(cache.use(key(2), by: 2) == .prepare(name: "s2"))
  }
}

@Suite struct PoolStateTests {
  private final class Thing {}

  @Test func opensAsManyAsWaitAndNoMoreThanItsSize() {
    var state = PoolState<Thing>(size: 2)
    #expect(state.takeIdle() == nil)
    #expect(state.takeIdle(orWait: 1) == nil)
    #expect(state.takeOpenings() == 1)
    #expect(state.takeOpenings() == 0)
    #expect(state.takeIdle(orWait: 2) == nil)
    #expect(state.takeIdle(orWait: 3) == nil)
    #expect(state.takeOpenings() == 1)
    let (first, second) = (Thing(), Thing())
    #expect(state.opened(first, at: .now) == .grant(1))
    #expect(state.released(first, isUsable: true, at: .now) == .grant(2))
    #expect(state.opened(second, at: .now) == .grant(3))
    #expect(state.released(second, isUsable: false, at: .now) == .drop)
    #expect(state.released(first, isUsable: true, at: .now) == .keep)
    #expect(state.takeIdle()?.connection === first)
    #expect(state.leasedCount == 1)
  }

  @Test func afterAFailureItTriesOneAtATimeWithGrowingPauses() {
    var state = PoolState<Thing>(size: 4)
    for waiter in 1...4 { #expect(state.takeIdle(orWait: UInt64(waiter)) == nil) }
    #expect(state.takeOpenings() == 4)
    var last = Duration.zero
    for _ in 0..<4 {
      state.failedToOpen()
      #expect(state.backoff(jitter: 0) > last)
      last = state.backoff(jitter: 0)
    }
    for _ in 0..<20 {
      #expect(state.takeOpenings() == 1)
      state.failedToOpen()
    }
    #expect(state.backoff(jitter: 0) == .seconds(0.5) && state.backoff(jitter: 1) == .seconds(0.25))
    #expect(state.giveUp(1) && !state.giveUp(1))
    #expect(state.takeOpenings() == 1)
    #expect(state.opened(Thing(), at: .now) == .grant(2))
    #expect(state.takeOpenings() == 2)
    #expect(state.close().waiters == [3, 4])
    #expect(state.opened(Thing(), at: .now) == .drop)
    #expect(state.takeOpenings() == 0)
  }
}
