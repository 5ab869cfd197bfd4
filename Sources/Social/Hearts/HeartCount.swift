import DurableJobs
import DurableJobsPostgres

/// Counts a heart for its celeb.
public struct HeartCount: Job {
  public static let kind: JobKind = "hearts.count"
  public static let queue = SocialJobs.countQueue

  public var celeb: Int
  public var fan: Int
  /// When the heart was given, in microseconds since 1970.
  public var at: Int

  public init(celeb: Int, fan: Int, at: Int) {
    self.celeb = celeb
    self.fan = fan
    self.at = at
  }

  static func run(_ jobs: [BatchedJob<HeartCount>], _ transaction: AppTransaction) async throws {
    var counts = CelebCounts()
    for job in jobs.map(\.job) { counts.addHeart(of: job.celeb, at: job.at) }
    try await counts.write(in: transaction.sql)
  }
}
