import ArgumentParser

/// The number of differences that an audit lists.
struct ExampleOptions: ParsableArguments, Sendable {
  @Option(help: "How many that differ to show, of each kind.") var examples = 20

  mutating func validate() throws {
    guard examples >= 0 else { throw ValidationError("--examples is \(examples): a number from 0 on belongs there") }
  }
}
