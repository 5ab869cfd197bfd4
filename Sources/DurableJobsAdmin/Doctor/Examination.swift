import LibPQClient

/// Something more for the doctor to look at, such as tables of the app's.
public protocol Examination: Sendable {
  /// Looks; changes nothing.
  func run(in transaction: PostgresTransaction) async throws -> [Finding]
}
