import CRawLimits
import Glibc

/// The benchmark as a client of event streams, in a separate process.
enum StreamsChild {
  struct Options: Sendable {
    var port = 0
    var board = ""
    var count = 0
    /// The account of the first stream; the others follow it.
    var base = 0
    /// The number of posts that the streams share: each stream has one of them open, and the one before the first.
    var posts = 0
    var firstPost = 0

    init(_ arguments: [String]) throws {
      var rest = arguments[...]
      while let name = rest.popFirst() {
        guard let value = rest.popFirst() else { throw UsageError("\(name) takes a value") }
        if name == "--board" {
          board = value
          continue
        }
        guard let number = Int(value) else { throw UsageError("\(name) takes a number") }
        switch name {
        case "--port": port = number
        case "--count": count = number
        case "--base": base = number
        case "--posts": posts = number
        case "--first-post": firstPost = number
        default: throw UsageError("unknown argument \(name)")
        }
      }
    }

    var words: [String] {
      [
        "streams", "--port", "\(port)", "--board", board, "--count", "\(count)", "--base", "\(base)", "--posts",
        "\(posts)", "--first-post", "\(firstPost)",
      ]
    }
  }

  /// Reads until it is killed; the time between two "@" is a sample.
  static func run(_ options: Options) throws {
    guard let board = bench_board_open(options.board) else { throw BenchError("\(options.board) cannot be shared") }
    let requests = (0..<options.count).map { index in
      """
      GET /v1/events?posts=\(options.firstPost + index % options.posts),\(options.firstPost - 1) HTTP/1.1\r\n\
      Host: 127.0.0.1\r\nAuthorization: Bearer \(LargeWorld.token(options.base + index))\r\n\r\n
      """
    }
    var error = [CChar](repeating: 0, count: 512)
    var texts: [UnsafePointer<CChar>?] = requests.map { UnsafePointer(strdup($0)) }
    // It returns only on an error, which ends the process.
    _ = bench_streams(Int32(options.port), &texts, Int64(options.count), board, &error, error.count)
    throw BenchError(String(decoding: error.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
  }
}
