#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Synchronization

/// The time of day in this process, by the clock of the ledger's server.
///
/// Ids that sort by time, due times and ticks of schedules are compared across processes, so one clock has to decide.
/// A process measures how far its system's clock is ahead of the ledger's, notes it here, and all that is dated by
/// `now` is right from then on.
public enum JobClock {
  /// Milliseconds by which the system's clock is ahead of the ledger's.
  private static let lead = Atomic<Int64>(0)
  /// Milliseconds by which a test sets the system's clock wrong.
  private static let fault = Atomic<Int64>(0)

  /// Differences below this are left alone: a measurement is not better than that, and time should not jump for
  /// nothing.
  static let tolerance = Duration.milliseconds(50)

  /// How far the system's clock is ahead of the ledger's; negative where it is behind.
  public static var ahead: Duration { .milliseconds(lead.load(ordering: .relaxed)) }

  /// The time of day by the ledger's clock.
  public static var now: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

  /// Milliseconds since 1970 by the ledger's clock.
  package static var milliseconds: Int64 { systemMilliseconds - lead.load(ordering: .relaxed) }

  /// Milliseconds since 1970 by the system's clock.
  package static var systemMilliseconds: Int64 {
    Int64(Date().timeIntervalSince1970 * 1000) + fault.load(ordering: .relaxed)
  }

  /// Notes how far the system's clock is ahead of the ledger's.
  ///
  /// - Parameter error: by how much the measurement may be wrong, half of its round trip.
  public static func note(ahead measured: Duration, error: Duration) {
    guard let corrected = correction(of: ahead, measured: measured, error: error) else { return }
    lead.store(corrected.milliseconds, ordering: .relaxed)
  }

  /// The new lead; nil where the measurement does not speak against the one that is known.
  static func correction(of known: Duration, measured: Duration, error: Duration) -> Duration? {
    let difference = measured - known
    return max(difference, .zero - difference) > tolerance + error ? measured : nil
  }

  /// Sets the system's clock wrong for this process, in a test.
  package static func misset(by duration: Duration) { fault.store(duration.milliseconds, ordering: .relaxed) }
}
