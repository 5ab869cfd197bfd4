import ArgumentParser
import DurableJobsAdmin
import Foundation

struct ManualCommand<P: QueueProgram>: ParsableCommand, Sendable {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "manual", abstract: "Print a command's man page, or write those of all commands into a folder.",
      discussion: """
        The pages come from the same definitions as --help. To read one: \(P.path) manual jobs list | man -l -.
        """)
  }
  @Argument(help: "The command, such as: jobs list. Without one, the program itself.") var command: [String] = []
  @Option(help: "The folder to write the pages of all commands into.", completion: .directory) var directory: String?

  func validate() throws {
    if directory != nil, !command.isEmpty { throw ValidationError("give a command, or --directory, not both") }
    if directory == nil { _ = try page() }
  }

  func run() throws {
    guard let directory else { return print(try page().text, terminator: "") }
    do {
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      for info in try CommandInfo.root(of: P.self).all {
        let page = ManualPage(command: info, manual: P.manual)
        try Data(page.text.utf8).write(to: URL(fileURLWithPath: directory).appendingPathComponent(page.file))
      }
    } catch {
      Output.complain("the pages cannot be written into \(directory): \(error.fileReason)")
      throw CommandStatus.noOutput
    }
  }

  private func page() throws -> ManualPage {
    var info = try CommandInfo.root(of: P.self)
    for word in command {
      guard let next = info.shown.first(where: { $0.commandName == word }) else {
        throw ValidationError("there is no command '\((info.path + [word]).joined(separator: " "))'")
      }
      info = next
    }
    return ManualPage(command: info, manual: P.manual)
  }
}
