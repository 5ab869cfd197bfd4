// Prints what Fanmill does a second, beside what the same servers do for plain C and for Sidekiq: see
// docs/benchmarks.md.

import Foundation

do {
  switch try Options.parse(Array(CommandLine.arguments.dropFirst())) {
  case .help:
    print(Options.help)
  case .worker(let options):
    try await WorkerChild.run(options)
  case .streams(let options):
    try StreamsChild.run(options)
  case .bench(let options):
    exit(try await Bench(options).run() ? 0 : 1)
  }
} catch let error as UsageError {
  FileHandle.standardError.write(Data("fanmill-bench: \(error.message)\n\n\(Options.help)\n".utf8))
  exit(64)
} catch {
  FileHandle.standardError.write(Data("fanmill-bench: \(error)\n".utf8))
  exit(1)
}
