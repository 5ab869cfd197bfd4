import Foundation
import Glibc

/// Prints a command's result: for people, or as one JSON document.
struct Output: Sendable {
  let isJSON: Bool

  /// A list: `{"items": […]}`, or a table.
  func list<Item: Encodable>(_ items: [Item], empty: String, _ table: ([Item]) -> Table) throws {
    if isJSON { return try json(Items(items: items)) }
    print(items.isEmpty ? empty : table(items).text(width: Terminal.width))
  }

  /// One thing: the document, or the lines that `text` makes.
  func one<Value: Encodable>(_ value: Value, _ text: (Value) -> String) throws {
    if isJSON { return try json(value) }
    print(text(value))
  }

  func json(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  /// Says something on the way, to people alone.
  func say(_ line: String) {
    if !isJSON { print(line) }
  }

  /// Says on the standard error output why something did not happen.
  static func complain(_ line: String) {
    FileHandle.standardError.write(Data("fanmill: \(line)\n".utf8))
  }

  private struct Items<Item: Encodable>: Encodable {
    let items: [Item]
  }
}

/// What is known of the terminal.
enum Terminal {
  /// The columns of the one that the standard output goes to; nil if it goes elsewhere, where nothing is cut off.
  static var width: Int? {
    var size = winsize()
    guard isatty(STDOUT_FILENO) == 1, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return nil
    }
    return Int(size.ws_col)
  }

  static var showsProgress: Bool { isatty(STDERR_FILENO) == 1 }
}
