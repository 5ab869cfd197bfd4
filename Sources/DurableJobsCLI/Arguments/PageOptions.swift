import ArgumentParser

/// The part of a long list to show.
package struct PageOptions: ParsableArguments, Sendable {
  package init() {}

  @Option(help: "The maximum number of entries, 1 to 100000.") package var limit = 50
  @Option(help: "Continue after this cursor, the 'next' of an earlier page.") package var before: String?

  package mutating func validate() throws {
    guard 1...100_000 ~= limit else {
      throw ValidationError("--limit is \(limit): use a number from 1 to 100000")
    }
  }
}
