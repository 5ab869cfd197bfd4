#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Synchronization

/// The time of day in this process, by the clock of the ledger's server.
///
/// Processes compare time-ordered ids, due times and schedule ticks, so a single clock has to decide. Each process
/// measures how far its system clock is ahead of the ledger's and notes it here; times from `now` are then correct.
public enum JobClock {
  /// Milliseconds by which the system clock is ahead of the ledger's.
  private static let lead = Atomic<Int64>(0)
  /// Milliseconds by which a test skews the system clock.
  private static let fault = Atomic<Int64>(0)

  /// Smaller differences are ignored: a measurement is no more precise, and time should not jump for nothing.
  static let tolerance = Duration.milliseconds(50)

  /// How far the system clock is ahead of the ledger's; negative if it is behind.
  public static var ahead: Duration { .milliseconds(lead.load(ordering: .relaxed)) }

  /// The time of day by the ledger's clock.
  public static var now: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

  /// Milliseconds since 1970 by the ledger's clock.
  package static var milliseconds: Int64 { systemMilliseconds - lead.load(ordering: .relaxed) }

  /// Milliseconds since 1970 by the system clock.
  package static var systemMilliseconds: Int64 {
    Int64(Date().timeIntervalSince1970 * 1000) + fault.load(ordering: .relaxed)
  }

  /// Notes how far the system clock is ahead of the ledger's.
  ///
  /// - Parameter error: the measurement's maximum error, half of its round trip.
  public static func note(ahead measured: Duration, error: Duration) {
    guard let corrected = correction(of: ahead, measured: measured, error: error) else { return }
    lead.store(corrected.milliseconds, ordering: .relaxed)
  }

  /// The new lead; nil if the measurement is consistent with the known one.
  static func correction(of known: Duration, measured: Duration, error: Duration) -> Duration? {
    let difference = measured - known
    return max(difference, .zero - difference) > tolerance + error ? measured : nil
  }

  /// Skews this process's system clock, in a test.
  package static func misset(by duration: Duration) { fault.store(duration.milliseconds, ordering: .relaxed) }
}
