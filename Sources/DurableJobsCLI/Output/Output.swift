import DurableJobsAdmin
import Foundation
import Glibc
import Locking

/// Prints a command's result: for people, or as one JSON document.
package struct Output: Sendable {
  package let isJSON: Bool

  package init(isJSON: Bool) { self.isJSON = isJSON }

  /// A list: `{"items": […]}`, or a table.
  ///
  /// - Parameters:
  ///   - next: where a list that is longer goes on; the document's `next`.
  ///   - empty: what people read where nothing is in it.
  package func list<Item: Encodable>(
    _ items: [Item], next: String? = nil, empty: String, _ table: ([Item]) -> Table
  ) throws {
    if isJSON { return try json(Items(items: items, next: next)) }
    print(items.isEmpty ? empty : table(items).text(on: .output))
    if let next { print(Style.dim.paint("more: --before \(next)", isColored: Terminal.output.isColored)) }
  }

  /// One thing: the document, or the lines that `text` makes.
  package func one<Value: Encodable>(_ value: Value, _ text: (Value) -> String) throws {
    if isJSON { return try json(value) }
    print(text(value))
  }

  package func json(_ value: some Encodable) throws {
    print(String(decoding: try Self.encoder().encode(value), as: UTF8.self))
  }

  /// How documents are written: fields in order, times in ISO 8601.
  package static func encoder() -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return encoder
  }

  /// Says something on the way, to people alone, and at once: into a pipe too.
  package func say(_ line: String) {
    guard !isJSON else { return }
    print(line)
    // The C library drops what it cannot write: `flush` reports it at the end.
    if fflush(nil) != 0 { Self.failure.withLock { $0 = $0 ?? errno } }
  }

  /// Has what was printed go where it should.
  ///
  /// - Throws: `.noOutput`, such as on a full disk.
  package static func flush() throws(OperationError) {
    let now = fflush(nil) == 0 ? nil : errno
    guard let reason = failure.withLock({ $0 }) ?? now else { return }
    throw OperationError(.noOutput, "the standard output cannot be written: \(String(cString: strerror(reason)))")
  }

  /// Why the first line that was lost was lost, as an `errno`; nil where none was.
  private static let failure = Locked<Int32?>(nil)

  /// The running program's name.
  private static let program = CommandLine.arguments.first.map { URL(fileURLWithPath: $0).lastPathComponent } ?? "jobs"

  /// Says on the standard error output why something did not happen.
  package static func complain(_ line: String) {
    FileHandle.standardError.write(Data("\(program): \(line)\n".utf8))
  }

  private struct Items<Item: Encodable>: Encodable {
    let items: [Item]
    let next: String?
  }
}
