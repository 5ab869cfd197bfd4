import DurableJobs
import DurableJobsPostgres
import Foundation

/// A job as an operator asks for it.
public struct JobRequest: Sendable {
  public var kind: String
  /// The payload's text.
  public var payload: [UInt8]
  /// Another queue than the kind's own.
  public var queue: String?
  public var priority: JobPriority
  /// When it is due; nil for at once.
  public var runAt: Date?
  /// While a job of this key is pending in the queue, another is not added.
  public var uniqueKey: String?

  public init(
    kind: String, payload: [UInt8], queue: String? = nil, priority: JobPriority = .normal, runAt: Date? = nil,
    uniqueKey: String? = nil
  ) {
    self.kind = kind
    self.payload = payload
    self.queue = queue
    self.priority = priority
    self.runAt = runAt
    self.uniqueKey = uniqueKey
  }
}

extension JobKinds {
  /// The job that `request` asks for, in the newest version of its kind's payload.
  ///
  /// - Throws: `.usage` for a kind or a queue that cannot be, `.data` for a payload that does not decode, naming the
  ///   field.
  public func record(_ request: JobRequest) throws(OperationError) -> JobRecord {
    let entry = try entry(request.kind)
    var queue = entry.queue
    if let name = request.queue {
      queue = QueueName(rawValue: name)
      guard queue.isValid else {
        throw OperationError(.usage, "'\(name)' cannot be a queue's name: 1 to 64 letters, digits, '-', '_' and '.'")
      }
    }
    if let key = request.uniqueKey, !(1...200).contains(key.utf8.count) || key.utf8.contains(0) {
      throw OperationError(.usage, "a unique key has 1 to 200 bytes, none of them 0")
    }
    let record = JobRecord(
      kind: entry.kind, queue: queue, priority: request.priority, version: entry.version, payload: request.payload,
      isDurable: true, runAt: request.runAt,
      uniqueKey: request.uniqueKey, trace: .current ?? .begin())
    do {
      try record.check()
      // Decoding it names no field that it passes over.
      if let stranger = Self.unknownField(in: request.payload, of: entry) { throw stranger }
      try entry.validate(request.payload, entry.version)
    } catch let error as OperationError {
      throw error
    } catch {
      throw OperationError(.data, "\(error)")
    }
    return record
  }

  /// A field that the kind does not know: mostly one that is spelled wrong, which decoding alone would pass over.
  private static func unknownField(
    in payload: [UInt8], of entry: JobRegistry<PostgresLedger>.Entry
  ) -> OperationError? {
    guard let fields = entry.fields() else { return nil }
    let found: Any
    do {
      found = try JSONSerialization.jsonObject(with: Data(payload))
    } catch {
      // That it is no JSON is told by decoding it.
      return nil
    }
    let names = fields.map(\.name)
    guard let stranger = (found as? [String: Any])?.keys.sorted().first(where: { !names.contains($0) }) else {
      return nil
    }
    let problem = "the payload of \(entry.kind) does not decode: field '\(stranger)' is unknown"
    guard let nearest = names.min(by: { EditDistance.between(stranger, $0) < EditDistance.between(stranger, $1) })
    else { return OperationError(.data, "\(problem); it has no fields") }
    return OperationError(.data, "\(problem); the nearest is '\(nearest)'. All: \(names.joined(separator: ", "))")
  }
}
