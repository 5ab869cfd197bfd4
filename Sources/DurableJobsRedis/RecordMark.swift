import DurableJobs

/// A job's trace and limits, as the first element of its failures:
/// `{"attempt":0,"at":0,"error":"","worker":"","trace":"00-…-…-01","max":3,"timeout":1500}`. The last three are present
/// if the job has them, in this order; the time limit is in milliseconds. The last version wrote only the trace's id.
struct RecordMark {
  var trace: TraceContext?
  var maxAttempts: Int?
  var timeout: Duration?

  private static let head = Array(#"{"attempt":0,"at":0,"error":"","worker":"""#.utf8)
  private static let traceKey = Array(#","trace":""#.utf8)
  private static let maxKey = Array(#","max":"#.utf8)
  private static let timeoutKey = Array(#","timeout":"#.utf8)

  private init() {}

  /// - Returns: nil for a job without trace and limits.
  init?(_ record: JobRecord) {
    if record.trace == nil, record.maxAttempts == nil, record.timeout == nil { return nil }
    (trace, maxAttempts, timeout) = (record.trace, record.maxAttempts, record.timeout)
  }

  /// The mark followed by the failures, which are a JSON array or empty.
  func joined(to failures: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.head.count + 100 + failures.count)
    bytes.append(UInt8(ascii: "["))
    bytes += Self.head
    if let trace {
      bytes += Self.traceKey
      bytes += trace.traceparent.utf8
      bytes.append(UInt8(ascii: "\""))
    }
    if let maxAttempts {
      bytes += Self.maxKey
      bytes += String(maxAttempts).utf8
    }
    if let timeout {
      bytes += Self.timeoutKey
      bytes += String(timeout.milliseconds).utf8
    }
    bytes.append(UInt8(ascii: "}"))
    if failures.isEmpty {
      bytes.append(UInt8(ascii: "]"))
    } else {
      bytes.append(UInt8(ascii: ","))
      bytes += failures.dropFirst()
    }
    return bytes
  }

  /// The mark, which may be empty, and the failures as JSON, empty if there are none.
  static func split(_ history: UnsafeRawBufferPointer) -> (mark: RecordMark, failures: [UInt8]) {
    var scanner = Scanner(bytes: history)
    var mark = RecordMark()
    guard scanner.skip([UInt8(ascii: "[")]), scanner.skip(head) else { return (mark, Array(history)) }
    if scanner.skip(traceKey) {
      let text = scanner.text()
      // Written by the previous version: the span is unknown.
      mark.trace = TraceContext(traceparent: text) ?? TraceID(text).map { TraceContext(id: $0, span: $0.low) }
    }
    if scanner.skip(maxKey) { mark.maxAttempts = scanner.number() }
    if scanner.skip(timeoutKey) { mark.timeout = scanner.number().map { .milliseconds($0) } }
    guard scanner.skip([UInt8(ascii: "}")]) else { return (RecordMark(), Array(history)) }
    let rest = scanner.rest
    return rest.count <= 1 ? (mark, []) : (mark, [UInt8(ascii: "[")] + rest.dropFirst())
  }

  /// Whether a worker of a version without marks rewrote a mark as this failure, dropping the fields it did not know.
  static func isMark(_ failure: JobFailure) -> Bool {
    failure.attempt == 0 && failure.at.unixMilliseconds == 0 && failure.error.isEmpty && failure.worker.isEmpty
  }

  private struct Scanner {
    let bytes: UnsafeRawBufferPointer
    var place = 0

    var rest: Slice<UnsafeRawBufferPointer> { bytes[place...] }

    mutating func skip(_ text: [UInt8]) -> Bool {
      guard bytes.count - place >= text.count, rest.starts(with: text) else { return false }
      place += text.count
      return true
    }

    /// Reads up to a quotation mark, which is skipped.
    mutating func text() -> String {
      let part = rest.prefix { $0 != UInt8(ascii: "\"") }
      place = min(bytes.count, part.endIndex + 1)
      return String(decoding: part, as: UTF8.self)
    }

    mutating func number() -> Int? {
      let part = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      place = part.endIndex
      return Int(String(decoding: part, as: UTF8.self))
    }
  }
}
