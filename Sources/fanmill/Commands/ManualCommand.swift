import ArgumentParser
import Bootstrap
import DurableJobsAdmin
import Foundation

struct ManualCommand: ParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "manual", abstract: "Print the man page of a command, or write those of all commands into a folder.",
    discussion: """
      The pages are made of the same definitions as --help. To read one: fanmill manual jobs list | man -l -. `make install` puts \
      all of them where man finds them.
      """)
  @Argument(help: "The command, such as: jobs list. Without one, fanmill itself.") var command: [String] = []
  @Option(help: "The folder to write the pages of all commands into.", completion: .directory) var directory: String?

  func validate() throws {
    if directory != nil, !command.isEmpty { throw ValidationError("give a command, or --directory, not both") }
    if directory == nil { _ = try page() }
  }

  func run() throws {
    guard let directory else { return print(try page().text, terminator: "") }
    do {
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      for info in try CommandInfo.fanmill().all {
        let page = ManualPage(command: info)
        try Data(page.text.utf8).write(to: URL(fileURLWithPath: directory).appendingPathComponent(page.file))
      }
    } catch {
      Output.complain("the pages cannot be written into \(directory): \(error.fileReason)")
      throw ExitStatus.noOutput
    }
  }

  private func page() throws -> ManualPage {
    var info = try CommandInfo.fanmill()
    for word in command {
      guard let next = info.shown.first(where: { $0.commandName == word }) else {
        throw ValidationError("there is no command '\((info.path + [word]).joined(separator: " "))'")
      }
      info = next
    }
    return ManualPage(command: info)
  }
}
