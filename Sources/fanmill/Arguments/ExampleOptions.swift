import ArgumentParser

/// The number of differences that an audit lists.
struct ExampleOptions: ParsableArguments, Sendable {
  @Option(help: "How many differences of each kind to show.") var examples = 20

  mutating func validate() throws {
    guard examples >= 0 else { throw ValidationError("--examples is \(examples): use 0 or more") }
  }
}
