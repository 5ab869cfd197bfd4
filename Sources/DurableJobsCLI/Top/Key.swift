import Dispatch
import Glibc

/// A key press.
enum Key: Sendable, Hashable {
  case up
  case down
  case nextPart
  case interrupt
  case suspend
  case escape
  case letter(Character)

  /// Parses a terminal's input; an incomplete key sequence is dropped.
  static func keys(in bytes: [UInt8]) -> [Key] {
    var keys: [Key] = []
    var rest = bytes[...]
    while let byte = rest.popFirst() {
      switch byte {
      case 0x03, 0x04: keys.append(.interrupt)
      case 0x1A: keys.append(.suspend)
      case 0x09: keys.append(.nextPart)
      case 0x1B:
        guard let next = rest.first, next == UInt8(ascii: "[") || next == UInt8(ascii: "O") else {
          keys.append(.escape)
          continue
        }
        rest = rest.dropFirst()
        // Parameters may precede the letter that ends the sequence (ECMA-48, CSI).
        let parameters = rest.prefix { $0 < 0x40 }
        rest = rest.dropFirst(parameters.count)
        switch rest.popFirst() {
        case UInt8(ascii: "A"): keys.append(.up)
        case UInt8(ascii: "B"): keys.append(.down)
        default: break
        }
      case UInt8(ascii: "k"): keys.append(.up)
      case UInt8(ascii: "j"): keys.append(.down)
      case 0x21...0x7E: keys.append(.letter(Character(UnicodeScalar(byte))))
      default: break
      }
    }
    return keys
  }

  /// The keys as they are pressed, until the terminal closes. It ends when the stream is dropped.
  static func stream() -> AsyncStream<Key> {
    AsyncStream { continuation in
      let source = DispatchSource.makeReadSource(
        fileDescriptor: STDIN_FILENO, queue: DispatchQueue(label: "fanmill.keys"))
      source.setEventHandler {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(STDIN_FILENO, &bytes, bytes.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return }
        if count <= 0 { return continuation.finish() }
        for key in keys(in: Array(bytes.prefix(count))) { continuation.yield(key) }
      }
      let handle = Handle(source: source)
      continuation.onTermination = { _ in handle.source.cancel() }
      source.resume()
    }
  }

  /// Unchecked, because dispatch objects are thread-safe and this one is only cancelled.
  private struct Handle: @unchecked Sendable {
    let source: any DispatchSourceRead
  }
}
