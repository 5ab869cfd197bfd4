/// Decides which of a queue's jobs the relay compares with the broker next. A value without I/O; `Relay` does what it
/// says.
///
/// Where one page holds all that is pending, that page is read at each interval. Where more waits, the work is split
/// three ways, so that a backlog of any size does not delay what matters:
/// - an *increment* reads what has become old enough since the last one, at each interval;
/// - a *recheck* asks the broker again about ids of the last minute, without reading the ledger;
/// - a *pass* walks through all that is pending, newest first and at leisure, and finds the rest.
///
/// A broker that has refused jobs is filled in the other order, oldest first, and takes no other pushes until it holds
/// them all.
///
/// A snapshot that is held for long keeps the entries of jobs that are done in the index, and every read of a range
/// walks over them. So a pass reads ranges of time that become shorter where reading is slow, and rests in proportion
/// to what it cost.
struct QueueSweep {
  typealias Instant = ContinuousClock.Instant

  /// What to compare. The bounds of a range are not part of it.
  enum Step: Equatable {
    /// The newest page of a range.
    case page(after: JobID, before: JobID, age: Duration, limit: Int)
    /// The oldest page beyond an id.
    case oldest(after: JobID, limit: Int)
    /// Ids that were seen lately.
    case recheck([JobID])

    /// How many ids it compares at most.
    fileprivate var limit: Int {
      switch self {
      case .page(_, _, _, let limit), .oldest(_, let limit): limit
      case .recheck(let ids): ids.count
      }
    }
  }

  /// How a step went.
  struct Outcome {
    /// What was compared, in the order of the page.
    var ids: [JobID]
    /// Those of them that the broker did not know.
    var missing: [JobID] = []
    /// How long reading the ledger took.
    var read: Duration = .zero
    /// How long all of it took.
    var took: Duration = .zero
  }

  private struct Range {
    var after: JobID
    var before: JobID
  }

  private struct Pass {
    var begun: Instant
    /// Whether the broker has forgotten all.
    var isRestart = false
    var age: Duration
    /// What is not read yet begins below it.
    var cursor = JobID.greatest
    /// Milliseconds of ids that one read takes; nil for all.
    var width: Int64?
    var narrowest: Int64?
    var busy = Duration.zero
    var pages = 0
    /// When its next page may be read.
    var due: Instant
  }

  /// Ids seen lately in one page.
  private struct Recent {
    var ids: [JobID]
    var until: Instant
    var due: Instant
  }

  private enum Current { case increment, pass, recheck(Recent), drain }

  private let interval: Duration
  private let age: Duration
  /// The most ids of a step.
  private let page: Int
  /// How many it has now: fewer after the broker did not answer, since it may only be too slow for so many.
  private var size: Int
  /// Transactions that commit their jobs so much later than they made the ids are found by increments; others by a
  /// pass.
  private let overlap = Duration.seconds(5)
  private let lately = Duration.seconds(60)
  private let recheckInterval: Duration
  private let maxRecent = 1000
  private static var minSize: Int { 10 }

  private var pass: Pass?
  private var nextPass: Instant
  private var isSmall = true
  private var increment: Range?
  private var incrementEnd = JobID.greatest
  private var read: JobID?
  private var nextIncrement: Instant
  private var recent: [Recent] = []
  /// With which a pass begins. The first one reads little at a time: what it will meet is not known yet.
  private var width: Int64? = 60_000
  private var current: Current?
  /// Up to where what the broker had refused is in it again.
  private var drained: JobID?
  private var drainDue: Instant
  /// Milliseconds since 1970, as of the last step.
  private var time: Int64 = 0

  /// - Parameters:
  ///   - interval: between two increments, or passes where little is pending.
  ///   - age: how old a job is before it is compared: its push is on its way until then.
  init(interval: Duration, age: Duration, page: Int = 1000, at now: Instant) {
    self.interval = interval
    self.age = age
    self.page = page
    size = page
    recheckInterval = interval * 3
    nextPass = now
    nextIncrement = now + interval
    drainDue = now
  }

  /// Reads all again, however young, since the broker has forgotten what it knew.
  mutating func restart(at now: Instant, time: Int64) {
    pass = Pass(begun: now, isRestart: true, age: .zero, width: width, due: now)
    recent = []
    increment = nil
    drained = nil
    read = JobID.min(atMilliseconds: time - age.milliseconds)
    nextIncrement = now + interval
  }

  /// Whether `restart` has not been carried through yet.
  var isRestarting: Bool { pass?.isRestart ?? false }

  /// Compares nothing but what is pending from `id` on, oldest first, until all of that is known to the broker.
  mutating func drain(from id: JobID, at now: Instant) {
    drained = id
    drainDue = now
    current = nil
    pass = nil
    increment = nil
    recent = []
  }

  var isDraining: Bool { drained != nil }

  /// - Parameter time: milliseconds since 1970 by the ledger's clock.
  /// - Returns: nil where nothing is due.
  mutating func next(at now: Instant, time: Int64) -> Step? {
    self.time = time
    if let drained {
      if now < drainDue { return nil }
      current = .drain
      return .oldest(after: drained, limit: size)
    }
    if isBehind, increment == nil, now >= nextIncrement {
      incrementEnd = JobID.min(atMilliseconds: time - age.milliseconds + 1)
      let overlapped = JobID.min(atMilliseconds: time - (age + overlap).milliseconds)
      increment = Range(after: min(read ?? overlapped, overlapped), before: incrementEnd)
      nextIncrement = now + interval
    }
    if let increment {
      current = .increment
      return .page(after: increment.after, before: increment.before, age: age, limit: size)
    }
    recent.removeAll { $0.until <= now || $0.ids.isEmpty }
    if let index = recent.indices.min(by: { recent[$0].due < recent[$1].due }), recent[index].due <= now {
      var lately = recent.remove(at: index)
      if lately.ids.count > size {
        let rest = Recent(ids: Array(lately.ids[size...]), until: lately.until, due: lately.due)
        recent.append(rest)
        lately.ids.removeSubrange(size...)
      }
      current = .recheck(lately)
      return .recheck(lately.ids)
    }
    if pass == nil, now >= nextPass {
      read = read ?? JobID.min(atMilliseconds: time - age.milliseconds)
      pass = Pass(begun: now, age: age, width: width, due: now)
    }
    guard let pass, now >= pass.due else { return nil }
    current = .pass
    return .page(after: lowest(of: pass, time), before: pass.cursor, age: pass.age, limit: size)
  }

  /// When `next` has something, unless it has at once.
  var due: Instant {
    if isDraining { return drainDue }
    if increment != nil { return nextIncrement - interval }
    var due = pass?.due ?? nextPass
    if isBehind { due = min(due, nextIncrement) }
    return recent.reduce(due) { min($0, $1.due) }
  }

  /// Takes in how the last step went.
  mutating func finish(_ outcome: Outcome, of step: Step, at now: Instant) {
    defer { current = nil }
    size = min(page, size + max(1, page / 100))
    switch current {
    case .drain:
      drained = outcome.ids.count == step.limit ? outcome.ids.last : nil
      // What has come meanwhile, or was pushed under an older id, is found at once.
      if drained == nil { (nextPass, nextIncrement) = (now, now) }
    case .increment:
      // What the last increment has seen, too, is noted already.
      note(outcome.ids.filter { $0 > read ?? $0 }, outcome, at: now)
      if outcome.ids.count == step.limit, let last = outcome.ids.last {
        increment?.before = last
      } else {
        increment = nil
        read = incrementEnd
      }
    case .recheck(var lately):
      let missing = Set(outcome.missing)
      // What was pushed again is known from now on, and the rest is settled: either way a pass will do.
      lately.ids.removeAll { missing.contains($0) }
      lately.due = now + recheckInterval
      recent.append(lately)
    case .pass:
      guard case .page(let after, _, _, let limit) = step else { return }
      finishPage(outcome, after: after, isFull: outcome.ids.count == limit, at: now)
    case nil: return
    }
  }

  /// Puts off what is next, since the broker did not do it.
  ///
  /// - Parameter isUnanswered: whether it gave no answer in time, so that less is asked at once.
  mutating func postpone(until moment: Instant, isUnanswered: Bool = false) {
    if isUnanswered { size = max(min(page, Self.minSize), size / 2) }
    if case .recheck(let lately) = current { recent.append(lately) }
    current = nil
    drainDue = max(drainDue, moment)
    nextPass = max(nextPass, moment)
    if let due = pass?.due { pass?.due = max(due, moment) }
    nextIncrement = max(nextIncrement, moment)
    for index in recent.indices { recent[index].due = max(recent[index].due, moment) }
    // Where it was is not lost: the increment begins again from its start.
    increment = nil
  }

  /// Whether a pass takes longer than the interval, so that it does not find what is new by itself.
  private var isBehind: Bool { !isSmall }

  private func lowest(of pass: Pass, _ time: Int64) -> JobID {
    guard let width = pass.width else { return JobID(high: 0, low: 0) }
    // What lies ahead of the time is one range: the ids of a clock that was ahead.
    if pass.cursor.milliseconds > time + 1000 { return JobID.min(atMilliseconds: time + 1000) }
    return JobID.min(atMilliseconds: max(0, pass.cursor.milliseconds - width))
  }

  private mutating func finishPage(_ outcome: Outcome, after: JobID, isFull: Bool, at now: Instant) {
    guard var pass else { return }
    pass.busy += outcome.took
    pass.pages += 1
    if isFull { isSmall = false }
    if !isSmall {
      let latest = JobID.min(atMilliseconds: time - lately.milliseconds)
      note(outcome.ids.filter { $0 > latest }, outcome, at: now)
    }
    adapt(&pass, outcome, isFull: isFull)
    // What the broker lacks is pushed without a pause; looking through what it has must not compete with the work.
    pass.due = outcome.missing.isEmpty ? now + max(.milliseconds(10), min(outcome.took, .milliseconds(200))) : now
    if isFull, let last = outcome.ids.last {
      pass.cursor = last
    } else if after > JobID(high: 0, low: 0) {
      pass.cursor = after
    } else {
      return end(pass, at: now)
    }
    self.pass = pass
  }

  /// Reads less at a time where reading is slow, and more where it is quick.
  private func adapt(_ pass: inout Pass, _ outcome: Outcome, isFull: Bool) {
    if outcome.read > .milliseconds(100), !isFull {
      let width = max(1000, (pass.width ?? 120_000) / 2)
      pass.width = width
      pass.narrowest = min(pass.narrowest ?? width, width)
    } else if outcome.read < .milliseconds(25), let width = pass.width {
      pass.width = Self.wider(width, by: 8)
    }
  }

  /// Beyond ten years all is one range.
  private static func wider(_ width: Int64, by factor: Int64) -> Int64? {
    width > 315_000_000_000 ? nil : width * factor
  }

  private mutating func end(_ pass: Pass, at now: Instant) {
    isSmall = pass.pages == 1 && pass.busy < interval / 40
    if isSmall { recent = [] }
    if let narrowest = pass.narrowest {
      width = narrowest * 2
    } else if let began = width {
      width = Self.wider(began, by: 64)
    }
    // What a pass just misses, the next one finds: both together take 150 intervals at most, five minutes by default.
    let longest = max(interval * 75, interval * 145 - pass.begun.duration(to: now))
    let rest = isSmall ? interval : min(max(interval, pass.busy * 20), longest)
    nextPass = max(pass.begun + rest, now + interval)
    self.pass = nil
  }

  /// Keeps ids of the last minute, to ask about them again.
  private mutating func note(_ seen: [JobID], _ outcome: Outcome, at now: Instant) {
    guard !seen.isEmpty, recent.count < maxRecent else { return }
    let missing = Set(outcome.missing)
    let ids = seen.filter { !missing.contains($0) }
    recent.append(Recent(ids: ids, until: now + lately, due: now + recheckInterval))
  }
}

extension JobID {
  static let greatest = JobID(high: .max, low: .max)
}
