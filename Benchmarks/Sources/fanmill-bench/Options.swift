/// The command-line options of the program.
struct Options: Sendable {
  enum Format: Sendable { case text, markdown, json }

  enum Command {
    case help
    case bench(Options)
    case worker(WorkerChild.Options)
    case streams(StreamsChild.Options)
  }

  var runs = 5
  var only: Set<String> = []
  var format = Format.text

  static let help = """
    usage: fanmill-bench [--quick] [--runs N] [--only NAME]... [--markdown | --json]

      --quick      one run of each instead of the medians of five
      --only NAME  only this measurement: \(Bench.names.joined(separator: ", "))
      --markdown   the table as it stands in README.md
      --json       one JSON document with every run

    Exits 0 if every bound holds, 1 if one does not or a count is wrong, 64 for bad arguments.
    """

  static func parse(_ arguments: [String]) throws -> Command {
    if arguments.first == "worker" { return .worker(try WorkerChild.Options(Array(arguments.dropFirst()))) }
    if arguments.first == "streams" { return .streams(try StreamsChild.Options(Array(arguments.dropFirst()))) }
    var options = Options()
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--help", "-h": return .help
      case "--quick": options.runs = 1
      case "--markdown": options.format = .markdown
      case "--json": options.format = .json
      case "--runs":
        guard let runs = rest.popFirst().flatMap({ Int($0) }), runs > 0 else {
          throw UsageError("--runs takes a number from 1")
        }
        options.runs = runs
      case "--only":
        guard let name = rest.popFirst(), Bench.names.contains(name) else {
          throw UsageError("--only takes one of \(Bench.names.joined(separator: ", "))")
        }
        options.only.insert(name)
      default: throw UsageError("unknown argument \(argument)")
      }
    }
    return .bench(options)
  }
}

struct UsageError: Error {
  let message: String
  init(_ message: String) { self.message = message }
}

/// A run whose result cannot be trusted: it fails the whole benchmark.
struct BenchError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }

  /// Fails unless exactly the expected amount was done.
  static func check(_ what: String, _ found: Int, equals expected: Int) throws {
    guard found == expected else { throw BenchError("\(what): \(found) instead of \(expected)") }
  }
}
