import ArgumentParser
import DurableJobsAdmin
import Foundation

/// The confirmation option of a destructive command.
package struct Confirmation: ParsableArguments, Sendable {
  package init() {}

  @Flag(name: [.customShort("y"), .customLong("yes")], help: "Skip the confirmation.")
  package var isGiven = false

  /// Asks for confirmation unless `--yes` is given.
  ///
  /// - Parameter question: the action, such as `cancel job 42`.
  /// - Throws: `.usage` without a terminal to ask at, `.refused` for any answer but yes.
  package func ask(_ question: String) throws(OperationError) {
    if isGiven { return }
    guard Terminal.canAsk else {
      throw OperationError(
        .usage, "nothing was done: there is no terminal to confirm '\(question)'; pass --yes to skip the confirmation")
    }
    FileHandle.standardError.write(Data("\(question.prefix(1).uppercased() + question.dropFirst())? [y/N] ".utf8))
    let answer = (readLine() ?? "").trimmingCharacters(in: .whitespaces).lowercased()
    guard answer == "y" || answer == "yes" else { throw OperationError(.refused, "nothing was done") }
  }
}

extension OperationError.Code {
  /// The user was asked and did not answer yes.
  package static let refused = OperationError.Code("refused")
}
