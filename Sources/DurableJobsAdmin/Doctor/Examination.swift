import LibPQClient

/// A further check for the doctor, such as one of the app's tables.
public protocol Examination: Sendable {
  /// Runs the check and changes nothing.
  func run(in transaction: PostgresTransaction) async throws -> [Finding]
}
