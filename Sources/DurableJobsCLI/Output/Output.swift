import DurableJobsAdmin
import Foundation
import Glibc
import Locking

/// Prints a command's result as text for people or as one JSON document.
package struct Output: Sendable {
  package let isJSON: Bool

  package init(isJSON: Bool) { self.isJSON = isJSON }

  /// Prints a list: `{"items": […]}`, or a table.
  ///
  /// - Parameters:
  ///   - next: the cursor of a longer list; the document's `next`.
  ///   - empty: the text printed if the list is empty.
  package func list<Item: Encodable>(
    _ items: [Item], next: String? = nil, empty: String, _ table: ([Item]) -> Table
  ) throws {
    if isJSON { return try json(Items(items: items, next: next)) }
    print(items.isEmpty ? empty : table(items).text(on: .output))
    if let next { print(Style.dim.paint("more: --before \(next)", isColored: Terminal.output.isColored)) }
  }

  /// Prints one value: the document, or the lines that `text` makes.
  package func one<Value: Encodable>(_ value: Value, _ text: (Value) -> String) throws {
    if isJSON { return try json(value) }
    print(text(value))
  }

  package func json(_ value: some Encodable) throws {
    print(String(decoding: try Self.encoder().encode(value), as: UTF8.self))
  }

  /// The encoder for documents: sorted fields, ISO 8601 times.
  package static func encoder() -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return encoder
  }

  /// Prints a progress message for people only, and flushes it at once, even into a pipe.
  package func say(_ line: String) {
    guard !isJSON else { return }
    print(line)
    // The C library drops what it cannot write; `flush` reports the error at the end.
    if fflush(nil) != 0 { Self.failure.withLock { $0 = $0 ?? errno } }
  }

  /// Flushes the output to its destination.
  ///
  /// - Throws: `.noOutput`, such as on a full disk.
  package static func flush() throws(OperationError) {
    let now = fflush(nil) == 0 ? nil : errno
    guard let reason = failure.withLock({ $0 }) ?? now else { return }
    throw OperationError(.noOutput, "cannot write to the standard output: \(String(cString: strerror(reason)))")
  }

  /// The `errno` of the first lost write; nil if none was lost.
  private static let failure = Locked<Int32?>(nil)

  /// The running program's name.
  private static let program = CommandLine.arguments.first.map { URL(fileURLWithPath: $0).lastPathComponent } ?? "jobs"

  /// Prints an error message to standard error.
  package static func complain(_ line: String) {
    FileHandle.standardError.write(Data("\(program): \(line)\n".utf8))
  }

  private struct Items<Item: Encodable>: Encodable {
    let items: [Item]
    let next: String?
  }
}
