import CRawLimits

/// The work in plain C; each call returns a rate per second.
enum Raw {
  static func add(_ socket: String, stream: String, recordSize: Int, count: Int) throws -> Double {
    let record = [UInt8](repeating: UInt8(ascii: "x"), count: recordSize)
    return try rate("XADD", count) { seconds, error, size in
      raw_add(socket, stream, record, record.count, Int64(count), seconds, error, size)
    }
  }

  static func drain(_ socket: String, stream: String, count: Int) throws -> Double {
    try rate("XREADGROUP", count) { seconds, error, size in
      raw_drain(socket, stream, Int64(count), seconds, error, size)
    }
  }

  /// Rows a second of a COPY of (first + n · step, post) into `table`.
  static func copy(
    _ server: String, table: String, first: Int, step: Int, count: Int, post: Int
  ) throws -> Double {
    try rate("COPY", count) { seconds, error, size in
      raw_copy(server, table, Int64(first), Int64(step), Int64(count), Int64(post), seconds, error, size)
    }
  }

  /// Rows a second that one statement inserts into a table and another deletes.
  static func ledger(_ server: String, in sqlIn: String, out sqlOut: String, count: Int, batch: Int) throws -> Double {
    try rate("ledger", count) { seconds, error, size in
      raw_ledger(server, sqlIn, sqlOut, Int64(count), Int64(batch), seconds, error, size)
    }
  }

  private static func rate(
    _ what: String, _ count: Int, _ body: (UnsafeMutablePointer<Double>, UnsafeMutablePointer<CChar>, Int) -> Int64
  ) throws -> Double {
    var seconds = 0.0
    var error = [CChar](repeating: 0, count: 512)
    let done = body(&seconds, &error, error.count)
    if done < 0 {
      let text = String(decoding: error.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      throw BenchError("\(what) in plain C: \(text)")
    }
    try BenchError.check("\(what) in plain C", Int(done), equals: count)
    return Double(count) / seconds
  }
}
