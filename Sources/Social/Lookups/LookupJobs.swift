import DurableJobs
import DurableJobsPostgres
import Foundation

/// A job that runs one lookup. If its worker dies, its calls may repeat: that costs an extra call but never adds a row
/// twice.
protocol LookupJob: Job {
  var lookup: UUID { get }
  /// The text to send for the lookup's question.
  var words: String { get }
  init(lookup: UUID, words: String)
}

/// Few retries and short pauses, since a user is waiting and each attempt costs quota.
private let lookupRetry = RetryPolicy(maxAttempts: 5, base: .seconds(1), cap: .seconds(60))

/// Searches for channels by words, with one call each.
public struct TextLookup: LookupJob {
  public static let kind: JobKind = "lookups.text"
  public static let queue = SocialJobs.lookupQueue
  public static let retry = lookupRetry
  public static let timeout: Duration? = .seconds(120)

  public var lookup: UUID
  public var words: String

  public init(lookup: UUID, words: String) {
    self.lookup = lookup
    self.words = words
  }
}

/// Finds channels by id, 50 per call, and by handle, one per call.
public struct ChannelLookup: LookupJob {
  public static let kind: JobKind = "lookups.channels"
  public static let queue = SocialJobs.lookupQueue
  public static let retry = lookupRetry
  public static let timeout: Duration? = .seconds(120)

  public var lookup: UUID
  public var words: String

  public init(lookup: UUID, words: String) {
    self.lookup = lookup
    self.words = words
  }
}

extension JobRegistry<PostgresLedger> {
  /// - Parameter youtube: nil where payloads are only checked and no lookup runs.
  mutating func registerLookups(_ youtube: YouTube?) {
    registerBatch(TextLookup.self, upTo: 50) { try await LookupBatch($0, youtube).run() }
    registerBatch(ChannelLookup.self, upTo: YouTubeCall.maxIDs) { try await LookupBatch($0, youtube).run() }
    register(LookupUpkeep.self) { try await $0.run(youtube, $1) }
    register(ChannelRefresh.self) { try await $0.run(youtube, $1) }
  }
}

/// A process without access to YouTube received a lookup.
struct NoYouTube: Error, CustomStringConvertible {
  let description = "this worker was started without access to YouTube"
}
