import DurableJobs

/// A job's trace among its failures: the array's first element, `{"attempt":0,…,"trace":"…"}`, always of the same
/// length.
enum TraceMark {
  private static let head = Array(#"[{"attempt":0,"at":0,"error":"","worker":"","trace":""#.utf8)
  private static let tail = Array(#""}"#.utf8)
  private static var length: Int { head.count + 32 + tail.count }

  /// The mark, and behind it the failures, an array as JSON or nothing.
  static func join(_ trace: TraceID, _ failures: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(length + max(1, failures.count))
    bytes += head
    bytes += trace.description.utf8
    bytes += tail
    if failures.isEmpty {
      bytes.append(UInt8(ascii: "]"))
    } else {
      bytes.append(UInt8(ascii: ","))
      bytes += failures.dropFirst()
    }
    return bytes
  }

  /// The trace, and the failures as JSON, nothing where there are none.
  static func split(_ history: UnsafeRawBufferPointer) -> (trace: TraceID?, failures: [UInt8]) {
    guard history.count > length, history.starts(with: head) else { return (nil, Array(history)) }
    let digits = history[head.count..<head.count + 32]
    guard let trace = TraceID(String(decoding: digits, as: UTF8.self)),
      history[(head.count + 32)..<length].elementsEqual(tail)
    else { return (nil, Array(history)) }
    let rest = history[length...]
    return rest.count == 1 ? (trace, []) : (trace, [UInt8(ascii: "[")] + rest.dropFirst())
  }

  /// Whether it is what a worker of a version without traces made of a mark: it kept all of it but the trace.
  static func isMark(_ failure: JobFailure) -> Bool {
    failure.attempt == 0 && failure.at == 0 && failure.error.isEmpty && failure.worker.isEmpty
  }
}
