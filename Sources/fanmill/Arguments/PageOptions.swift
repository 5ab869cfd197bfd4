import ArgumentParser

/// Which part of a long list is shown.
struct PageOptions: ParsableArguments, Sendable {
  @Option(help: "How many at most, 1 to 100000.") var limit = 50
  @Option(help: "Go on after this cursor, the 'next' of an earlier page.") var before: String?

  mutating func validate() throws {
    guard 1...100_000 ~= limit else {
      throw ValidationError("--limit is \(limit): a number from 1 to 100000 belongs there")
    }
  }
}

/// How many examples of what differs an audit shows.
struct ExampleOptions: ParsableArguments, Sendable {
  @Option(help: "How many that differ to show, of each kind.") var examples = 20

  mutating func validate() throws {
    guard examples >= 0 else { throw ValidationError("--examples is \(examples): a number from 0 on belongs there") }
  }
}
