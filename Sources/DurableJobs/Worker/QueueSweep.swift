/// Decides which of a queue's jobs the relay compares with the broker next. A value without I/O; `Relay` carries out
/// its steps.
///
/// If all pending jobs fit in one page, that page is read at each interval. Otherwise the work is split three ways, so
/// that a backlog of any size does not delay urgent work:
/// - an *increment* reads the jobs that have become old enough since the last one, at each interval;
/// - a *recheck* asks the broker again about ids of the last minute, without reading the ledger;
/// - a *pass* slowly walks all pending jobs, newest first, and finds the rest.
///
/// A broker that has refused jobs is filled in the opposite order, oldest first, and takes no other pushes until it has
/// them all.
///
/// A long-lived snapshot keeps index entries of finished jobs, and every range read scans them. So a pass reads shorter
/// time ranges if reads are slow, and rests in proportion to its cost.
struct QueueSweep {
  typealias Instant = ContinuousClock.Instant

  /// What to compare. The bounds of a range are exclusive.
  enum Step: Equatable {
    /// The newest page of a range.
    case page(after: JobID, before: JobID, age: Duration, limit: Int)
    /// The oldest page after an id.
    case oldest(after: JobID, limit: Int)
    /// Recently seen ids.
    case recheck([JobID])

    /// The maximum number of ids it compares.
    fileprivate var limit: Int {
      switch self {
      case .page(_, _, _, let limit), .oldest(_, let limit): limit
      case .recheck(let ids): ids.count
      }
    }
  }

  /// The result of a step.
  struct Outcome {
    /// The compared ids, in page order.
    var ids: [JobID]
    /// Those that the broker did not know.
    var missing: [JobID] = []
    /// Time spent reading the ledger.
    var read: Duration = .zero
    /// Total time.
    var took: Duration = .zero
  }

  private struct Range {
    var after: JobID
    var before: JobID
  }

  private struct Pass {
    var begun: Instant
    /// Whether it follows the loss of the broker's data.
    var isRestart = false
    var age: Duration
    /// The unread part begins below it.
    var cursor = JobID.greatest
    /// Milliseconds of ids in one read; nil for all.
    var width: Int64?
    var narrowest: Int64?
    var busy = Duration.zero
    var pages = 0
    /// When the next page may be read.
    var due: Instant
  }

  /// Recently seen ids of one page.
  private struct Recent {
    var ids: [JobID]
    var until: Instant
    var due: Instant
  }

  private enum Current { case increment, pass, recheck(Recent), drain }

  private let interval: Duration
  private let age: Duration
  /// The maximum number of ids in a step.
  private let page: Int
  /// The current number: smaller after the broker did not answer, since it may only be too slow for so many.
  private var size: Int
  /// Increments find jobs whose transactions commit up to this long after creating the ids; passes find later ones.
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
  /// The initial width of a pass. The first one reads little at a time, since the amount is still unknown.
  private var width: Int64? = 60_000
  private var current: Current?
  /// The position up to which refused jobs have been pushed again.
  private var drained: JobID?
  private var drainDue: Instant
  /// Milliseconds since 1970, as of the last step.
  private var time: Int64 = 0

  /// - Parameters:
  ///   - interval: between two increments, or between two passes if little is pending.
  ///   - age: the minimum age of a compared job; until then its push may be in flight.
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

  /// Reads everything again, regardless of age, since the broker has lost its data.
  mutating func restart(at now: Instant, time: Int64) {
    pass = Pass(begun: now, isRestart: true, age: .zero, width: width, due: now)
    recent = []
    increment = nil
    drained = nil
    read = JobID.min(atMilliseconds: time - age.milliseconds)
    nextIncrement = now + interval
  }

  /// Whether the pass started by `restart` is still in progress.
  var isRestarting: Bool { pass?.isRestart ?? false }

  /// Compares only jobs pending from `id` on, oldest first, until the broker knows all of them.
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
  /// - Returns: nil if nothing is due.
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

  /// When `next` will have a step, unless one is due now.
  var due: Instant {
    if isDraining { return drainDue }
    if increment != nil { return nextIncrement - interval }
    var due = pass?.due ?? nextPass
    if isBehind { due = min(due, nextIncrement) }
    return recent.reduce(due) { min($0, $1.due) }
  }

  /// Takes the outcome of the last step into account.
  mutating func finish(_ outcome: Outcome, of step: Step, at now: Instant) {
    defer { current = nil }
    size = min(page, size + max(1, page / 100))
    switch current {
    case .drain:
      drained = outcome.ids.count == step.limit ? outcome.ids.last : nil
      // Finds at once the jobs added meanwhile, or pushed under an older id.
      if drained == nil { (nextPass, nextIncrement) = (now, now) }
    case .increment:
      // Ids that the previous increment saw are already noted.
      note(outcome.ids.filter { $0 > read ?? $0 }, outcome, at: now)
      if outcome.ids.count == step.limit, let last = outcome.ids.last {
        increment?.before = last
      } else {
        increment = nil
        read = incrementEnd
      }
    case .recheck(var lately):
      let missing = Set(outcome.missing)
      // Jobs pushed again are known from now on, and the rest is settled: a pass suffices for both.
      lately.ids.removeAll { missing.contains($0) }
      lately.due = now + recheckInterval
      recent.append(lately)
    case .pass:
      guard case .page(let after, _, _, let limit) = step else { return }
      finishPage(outcome, after: after, isFull: outcome.ids.count == limit, at: now)
    case nil: return
    }
  }

  /// Delays the next steps, since the broker failed to do this one.
  ///
  /// - Parameter isUnanswered: whether it did not answer in time, so that the next steps ask about fewer ids.
  mutating func postpone(until moment: Instant, isUnanswered: Bool = false) {
    if isUnanswered { size = max(min(page, Self.minSize), size / 2) }
    if case .recheck(let lately) = current { recent.append(lately) }
    current = nil
    drainDue = max(drainDue, moment)
    nextPass = max(nextPass, moment)
    if let due = pass?.due { pass?.due = max(due, moment) }
    nextIncrement = max(nextIncrement, moment)
    for index in recent.indices { recent[index].due = max(recent[index].due, moment) }
    // Its position is not lost: the increment starts over from its beginning.
    increment = nil
  }

  /// Whether a pass takes longer than the interval, so that passes alone do not find new jobs in time.
  private var isBehind: Bool { !isSmall }

  private func lowest(of pass: Pass, _ time: Int64) -> JobID {
    guard let width = pass.width else { return JobID(high: 0, low: 0) }
    // Ids ahead of the current time, from a clock that was ahead, are one range.
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
    // Missing jobs are pushed without a pause; a scan that finds nothing must not compete with the workers.
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

  /// Reads less at a time if reads are slow, and more if they are fast.
  private func adapt(_ pass: inout Pass, _ outcome: Outcome, isFull: Bool) {
    if outcome.read > .milliseconds(100), !isFull {
      let width = max(1000, (pass.width ?? 120_000) / 2)
      pass.width = width
      pass.narrowest = min(pass.narrowest ?? width, width)
    } else if outcome.read < .milliseconds(25), let width = pass.width {
      pass.width = Self.wider(width, by: 8)
    }
  }

  /// Beyond ten years, all ids are one range.
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
    // The next pass finds what this one just missed: together they take at most 150 intervals, five minutes by default.
    let longest = max(interval * 75, interval * 145 - pass.begun.duration(to: now))
    let rest = isSmall ? interval : min(max(interval, pass.busy * 20), longest)
    nextPass = max(pass.begun + rest, now + interval)
    self.pass = nil
  }

  /// Keeps ids of the last minute for rechecks.
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
