import ArgumentParser
import Foundation

/// A command as ArgumentParser describes it (`--experimental-dump-help`), the source of help, completions and man
/// pages.
struct CommandInfo: Decodable {
  struct Argument: Decodable {
    enum Kind: String, Decodable { case positional, option, flag }
    struct Name: Decodable {
      enum Kind: String, Decodable { case long, short, longWithSingleDash }
      let kind: Kind
      let name: String

      /// The option without its first hyphen, as mdoc's `Fl` takes it.
      var flag: String { kind == .long ? "-\(name)" : name }
    }

    let kind: Kind
    let shouldDisplay: Bool
    let isOptional: Bool
    let isRepeating: Bool
    let names: [Name]?
    let preferredName: Name?
    let valueName: String?
    let defaultValue: String?
    let allValues: [String]?
    let abstract: String?
  }

  let commandName: String
  let superCommands: [String]?
  let shouldDisplay: Bool?
  let abstract: String?
  let discussion: String?
  let defaultSubcommand: String?
  let subcommands: [CommandInfo]?
  let arguments: [Argument]?

  /// The commands from the program down to this one.
  var path: [String] { (superCommands ?? []) + [commandName] }

  var shown: [CommandInfo] { (subcommands ?? []).filter { $0.shouldDisplay != false && $0.commandName != "help" } }

  var shownArguments: [Argument] { (arguments ?? []).filter(\.shouldDisplay) }

  /// This command and all visible commands below it.
  var all: [CommandInfo] { [self] + shown.flatMap(\.all) }

  private struct Tool: Decodable { let command: CommandInfo }

  /// The program's root command.
  static func root<P: QueueProgram>(of program: P.Type) throws -> CommandInfo {
    try JSONDecoder().decode(Tool.self, from: Data(P.root._dumpHelp().utf8)).command
  }
}
