import DurableJobs
import DurableJobsPostgres

/// A kind of job, for display.
public struct KindSummary: Codable, Sendable, Hashable {
  public let kind: String
  /// The queue of its jobs unless the enqueuer names another.
  public let queue: String
  /// The newest version of the payload that this program knows.
  public let version: Int
  /// The number of attempts after which a job becomes a dead letter.
  public let maxAttempts: Int
  /// How long a handler may run, in seconds; nil for no limit.
  public let timeout: Double?
  /// The payload's fields; nil if they are unknown.
  public let fields: [PayloadField]?
}

/// The kinds of a registry, with suggestions for unknown names.
public struct JobKinds: Sendable {
  let registry: JobRegistry<PostgresLedger>

  public init(_ registry: JobRegistry<PostgresLedger>) {
    self.registry = registry
  }

  /// The kinds' names, in order.
  public var names: [String] { registry.entries.keys.map(\.rawValue).sorted() }

  /// The queues that the kinds name.
  public var queues: [QueueName] { registry.queues }

  /// The known kind nearest to an unknown name; nil if the name is known.
  public func nearest(to kind: String) -> String? {
    if knows(kind) { return nil }
    return names.min { EditDistance.between(kind, $0) < EditDistance.between(kind, $1) }
  }

  /// A warning about a queue that no kind names; nil if a kind names it.
  public func warning(queue: String) -> String? {
    let names = queues.map(\.rawValue)
    if names.contains(queue) { return nil }
    let meant = EditDistance.meant(by: queue, of: names).map { " (did you mean '\($0)'?)" } ?? ""
    return "no kind of job uses the queue '\(queue)'\(meant): only a worker configured to serve it will run its jobs"
  }

  /// Whether a kind of this name exists.
  public func knows(_ kind: String) -> Bool { registry.entries[JobKind(rawValue: kind)] != nil }

  /// All kinds, by name. It reads each payload's fields, so it is slower than `names`.
  public var list: [KindSummary] {
    registry.entries.values.sorted { $0.kind < $1.kind }.map { entry in
      KindSummary(
        kind: entry.kind.rawValue, queue: entry.queue.rawValue, version: entry.version,
        maxAttempts: entry.retry.maxAttempts, timeout: entry.timeout.map { $0 / .seconds(1) },
        fields: entry.fields())
    }
  }

  /// - Throws: `.usage`, naming the nearest kind and all kinds.
  func entry(_ name: String) throws(OperationError) -> JobRegistry<PostgresLedger>.Entry {
    if let entry = registry.entries[JobKind(rawValue: name)] { return entry }
    throw EditDistance.unknown("kind of job", name, of: names)
  }
}

/// The number of letters to insert, delete or change to turn one word into another (Levenshtein).
public enum EditDistance {
  /// The nearest of `names`, if it is close enough to be the intended one.
  public static func meant(by word: String, of names: [String]) -> String? {
    names.sorted().map { (name: $0, distance: EditDistance.between(word, $0)) }
      .filter { $0.distance <= max(2, word.count / 3) }.min { $0.distance < $1.distance }?.name
  }

  /// The error for a name that does not exist.
  public static func unknown(_ what: String, _ name: String, of names: some Sequence<String>) -> OperationError {
    let names = names.sorted()
    var message = "there is no \(what) named '\(name)'"
    if let nearest = names.min(by: { between(name, $0) < between(name, $1) }) {
      message += "; the nearest is '\(nearest)'. All: \(names.joined(separator: ", "))"
    }
    return OperationError(.usage, message)
  }

  static func between(_ one: String, _ other: String) -> Int {
    let other = Array(other)
    var row = Array(0...other.count)
    for (i, x) in one.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, y) in other.enumerated() {
        let changed = diagonal + (x == y ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = min(changed, diagonal + 1, row[j] + 1)
      }
    }
    return row[other.count]
  }
}
