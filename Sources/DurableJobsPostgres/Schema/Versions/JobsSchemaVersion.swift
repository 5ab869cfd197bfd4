/// A step of the queue's schema. The SQL of a step that was released stays as it is: databases have its hash.
public struct JobsSchemaVersion: Sendable, Hashable {
  /// 1 for the first.
  public let number: Int
  public let name: String
  /// Statements that name tables without a schema: they run where `search_path` is the queue's schema.
  let sql: String
  /// Takes the step back, without the records that the version before has no room for; nil for the first.
  var undo: String?

  static let all: [JobsSchemaVersion] = [.version1, .version2, .version3]
}
