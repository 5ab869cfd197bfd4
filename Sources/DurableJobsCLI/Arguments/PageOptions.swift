import ArgumentParser

/// The part of a long list to show.
package struct PageOptions: ParsableArguments, Sendable {
  package init() {}

  @Option(help: "How many at most, 1 to 100000.") package var limit = 50
  @Option(help: "Go on after this cursor, the 'next' of an earlier page.") package var before: String?

  package mutating func validate() throws {
    guard 1...100_000 ~= limit else {
      throw ValidationError("--limit is \(limit): a number from 1 to 100000 belongs there")
    }
  }
}
