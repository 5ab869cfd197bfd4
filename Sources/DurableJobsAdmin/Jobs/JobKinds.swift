import DurableJobs
import DurableJobsPostgres

/// A kind of job, for people who look at it.
public struct KindSummary: Codable, Sendable, Hashable {
  public let kind: String
  /// Where its jobs wait unless the enqueuer says otherwise.
  public let queue: String
  /// The newest version of the payload that this program knows.
  public let version: Int
  /// The attempts after which a job is a dead letter.
  public let maxAttempts: Int
  /// How long a handler may run, in seconds; nil for no limit.
  public let timeout: Double?
  /// The payload's fields; nil where nobody can say.
  public let fields: [PayloadField]?
}

/// The kinds of a registry, and what to say of a kind that is not among them.
public struct JobKinds: Sendable {
  let registry: JobRegistry<PostgresLedger>

  public init(_ registry: JobRegistry<PostgresLedger>) {
    self.registry = registry
  }

  /// Their names, in order.
  public var names: [String] { registry.entries.keys.map(\.rawValue).sorted() }

  /// The queues that they name.
  public var queues: [QueueName] { registry.queues }

  /// The kind whose name is nearest to one that no kind has; nil for one that a kind has.
  public func nearest(to kind: String) -> String? {
    if knows(kind) { return nil }
    return names.min { EditDistance.between(kind, $0) < EditDistance.between(kind, $1) }
  }

  /// A warning about a queue that no kind names; nil for one that a kind names.
  public func warning(queue: String) -> String? {
    let names = queues.map(\.rawValue)
    if names.contains(queue) { return nil }
    let meant = EditDistance.meant(by: queue, of: names).map { " (is it '\($0)'?)" } ?? ""
    return "no kind of job has the queue '\(queue)'\(meant): only a worker that is configured to serve it does"
  }

  /// Whether a kind of this name can be asked for.
  public func knows(_ kind: String) -> Bool { registry.entries[JobKind(rawValue: kind)] != nil }

  /// All of them, by name. Asks each for its payload's fields, which takes longer than its name alone: `names`.
  public var list: [KindSummary] {
    registry.entries.values.sorted { $0.kind < $1.kind }.map { entry in
      KindSummary(
        kind: entry.kind.rawValue, queue: entry.queue.rawValue, version: entry.version,
        maxAttempts: entry.retry.maxAttempts, timeout: entry.timeout.map { $0 / .seconds(1) },
        fields: entry.fields())
    }
  }

  /// - Throws: `.usage`, naming the nearest kind and all there are.
  func entry(_ name: String) throws(OperationError) -> JobRegistry<PostgresLedger>.Entry {
    if let entry = registry.entries[JobKind(rawValue: name)] { return entry }
    throw EditDistance.unknown("kind of job", name, of: names)
  }
}

/// How many letters must be put in, taken out or changed to make one word from another (Levenshtein).
public enum EditDistance {
  /// The nearest of `names`, where that is near enough to be what was meant.
  public static func meant(by word: String, of names: [String]) -> String? {
    names.sorted().map { (name: $0, distance: EditDistance.between(word, $0)) }
      .filter { $0.distance <= max(2, word.count / 3) }.min { $0.distance < $1.distance }?.name
  }

  /// What to say to somebody who asks for something by a name that nothing has.
  public static func unknown(_ what: String, _ name: String, of names: some Sequence<String>) -> OperationError {
    let names = names.sorted()
    var message = "there is no \(what) called '\(name)'"
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
