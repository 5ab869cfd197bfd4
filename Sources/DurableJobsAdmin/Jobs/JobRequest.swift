import DurableJobs
import DurableJobsPostgres
import Foundation

/// An operator's request for a job.
public struct JobRequest: Sendable {
  public var kind: String
  /// The payload's text.
  public var payload: [UInt8]
  /// Overrides the kind's own queue.
  public var queue: String?
  public var priority: JobPriority
  /// When the job is due; nil for at once.
  public var runAt: Date?
  /// While a job with this key is pending in the queue, no second one is added.
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
  /// Builds the record for `request`, in the newest version of its kind's payload.
  ///
  /// - Throws: `.usage` for an invalid kind or queue; `.data` for a payload that does not decode, naming the field.
  public func record(_ request: JobRequest) throws(OperationError) -> JobRecord {
    let entry = try entry(request.kind)
    var queue = entry.queue
    if let name = request.queue {
      queue = QueueName(rawValue: name)
      guard queue.isValid else {
        throw OperationError(
          .usage, "'\(name)' is not a valid queue name: use 1 to 64 letters, digits, '-', '_' and '.'")
      }
    }
    if let key = request.uniqueKey, !(1...200).contains(key.utf8.count) || key.utf8.contains(0) {
      throw OperationError(.usage, "a unique key must have 1 to 200 bytes, none of them zero")
    }
    let record = JobRecord(
      kind: entry.kind, queue: queue, priority: request.priority, version: entry.version, payload: request.payload,
      isDurable: true, runAt: request.runAt,
      uniqueKey: request.uniqueKey, trace: .current ?? .begin())
    do {
      try record.check()
      // Decoding ignores unknown fields, so they are checked first.
      if let stranger = Self.unknownField(in: request.payload, of: entry) { throw stranger }
      try entry.validate(request.payload, entry.version)
    } catch let error as OperationError {
      throw error
    } catch {
      throw OperationError(.data, "\(error)")
    }
    return record
  }

  /// Reports a field that the kind does not have, usually a misspelled one, which decoding alone would ignore.
  private static func unknownField(
    in payload: [UInt8], of entry: JobRegistry<PostgresLedger>.Entry
  ) -> OperationError? {
    guard let fields = entry.fields() else { return nil }
    let found: Any
    do {
      found = try JSONSerialization.jsonObject(with: Data(payload))
    } catch {
      // Decoding reports that this is not JSON.
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
