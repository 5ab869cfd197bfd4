import Logging
import Postgres
import ServiceLifecycle
import Social

/// Keeps the feed's partitions ahead of time, so that no post meets a day without one.
///
/// Every worker does it, at its start and each hour: the second one finds nothing to do.
struct FeedPartitionKeeper: Service {
  let pool: PostgresPool
  let logger: Logger

  func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        await keep()
        do { try await Task.sleep(for: .seconds(3600)) } catch { return }
      }
    }
  }

  private func keep() async {
    do {
      let made = try await pool.transaction { try await FeedPartitions().run(in: $0).made }
      if made > 0 { logger.info("feed partitions were made", metadata: ["count": "\(made)"]) }
    } catch {
      // Partitions are there for days; the next hour tries again.
      logger.warning("the feed's partitions could not be looked after", metadata: ["error": "\(error)"])
    }
  }
}
