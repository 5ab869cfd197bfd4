import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Adds events to the counts of celebs, many events in one statement.
///
/// Times are in microseconds since 1970, Postgres's own precision, so that the time in a job equals the time in the row
/// it came from.
struct CelebCounts: Sendable {
  private var celebs: [Int] = []
  private var moments: [Int] = []
  private var hearts: [Int32] = []
  private var changes: [Int32] = []
  private var happened: [Int] = []

  mutating func addHeart(of celeb: Int, at time: Int) {
    add(celeb, day: time, heart: 1, change: 0, at: time)
  }

  /// Adds or removes a fan who registered the celeb at `since`.
  mutating func addFan(of celeb: Int, since: Int, change: Int, at time: Int) {
    add(celeb, day: since, heart: 0, change: Int32(clamping: change), at: time)
  }

  private mutating func add(_ celeb: Int, day: Int, heart: Int32, change: Int32, at time: Int) {
    celebs.append(celeb)
    moments.append(day)
    hearts.append(heart)
    changes.append(change)
    happened.append(time)
  }

  func write(in transaction: PostgresTransaction) async throws {
    try await transaction.execute(
      "SELECT count_celebs(\(celebs), \(moments), \(hearts), \(changes), \(happened))", timeout: .seconds(240))
  }
}

/// Counts a fan who registered or removed a celeb.
public struct FanCount: Job {
  public static let kind: JobKind = "celebs.count"
  public static let queue = SocialJobs.countQueue

  public var celeb: Int
  public var fan: Int
  /// When the fan registered the celeb, in microseconds since 1970.
  public var since: Int
  /// 1 or -1.
  public var change: Int
  /// When the event happened, in microseconds since 1970.
  public var at: Int

  public init(celeb: Int, fan: Int, since: Int, change: Int, at: Int) {
    self.celeb = celeb
    self.fan = fan
    self.since = since
    self.change = change
    self.at = at
  }

  static func run(_ jobs: [BatchedJob<FanCount>], _ transaction: AppTransaction) async throws {
    var counts = CelebCounts()
    for job in jobs.map(\.job) { counts.addFan(of: job.celeb, since: job.since, change: job.change, at: job.at) }
    try await counts.write(in: transaction.sql)
  }
}
