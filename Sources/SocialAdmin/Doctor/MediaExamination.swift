import DurableJobsAdmin
import Foundation
import LibPQClient
import Social

/// The doctor's check of the picture store.
public struct MediaExamination: Examination {
  private let place: String
  private let check: @Sendable () async throws -> Void

  /// - Parameters:
  ///   - place: the folder or the bucket, without secrets.
  ///   - check: calls `MediaStore.check`.
  public init(place: String, check: @escaping @Sendable () async throws -> Void) {
    self.place = place
    self.check = check
  }

  public func run(in transaction: PostgresTransaction) async throws -> [Finding] {
    do {
      try await check()
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      return [
        .fail(
          "pictures", "\(error)",
          "uploads fail and pictures are not processed until this is fixed (FANMILL_MEDIA_URL or FANMILL_MEDIA_DIR)")
      ]
    }
    return [.ok("pictures", "\(place) returns what is written to it")]
  }
}
