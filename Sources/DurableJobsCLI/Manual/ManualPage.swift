import Foundation

/// A command's man page, in mdoc (mdoc(7)).
struct ManualPage {
  let command: CommandInfo
  let manual: Manual

  /// The page's name, such as `fanmill-jobs-list`.
  var name: String { command.path.joined(separator: "-") }
  var file: String { "\(name).1" }

  var text: String {
    var lines = [
      ".Dd \(manual.date)", ".Dt \(name.uppercased()) 1", ".Os", ".Sh NAME", ".Nm \(name)",
      ".Nd \(Self.oneLine(command.abstract ?? name))", ".Sh SYNOPSIS",
    ]
    lines += synopsis
    let texts = [command.abstract, command.discussion].compactMap(\.self)
    lines += [".Sh DESCRIPTION"] + Self.paragraphs(texts.flatMap { $0.components(separatedBy: "\n\n") })
    lines += commands + arguments
    if command.superCommands == nil { lines += environment }
    lines += Self.exitStatus + seeAlso
    return lines.joined(separator: "\n") + "\n"
  }

  private var synopsis: [String] {
    var lines = [".Nm \(command.path[0])"]
    lines += command.path.dropFirst().map { ".Cm \($0)" }
    if !command.shown.isEmpty {
      lines.append(command.defaultSubcommand == nil ? ".Ar command" : ".Op Ar command")
      lines.append(".Op Ar arguments")
      return lines
    }
    for argument in command.shownArguments where !["help", "version"].contains(argument.preferredName?.name) {
      let form = Self.form(argument)
      let more = argument.isRepeating ? " ..." : ""
      lines.append(argument.isOptional ? ".Op \(form)\(more)" : ".\(form)\(more)")
    }
    return lines
  }

  /// The commands below this one.
  private var commands: [String] {
    if command.shown.isEmpty { return [] }
    var lines = [".Pp", "The commands are:", ".Bl -tag -width Ds"]
    for child in command.shown {
      lines.append(".It Cm \(child.commandName)")
      lines.append(Self.roff(child.abstract ?? ""))
      lines.append("See")
      lines.append(".Xr \(child.path.joined(separator: "-")) 1 .")
    }
    lines.append(".El")
    if let name = command.defaultSubcommand {
      lines += [".Pp", "Without a command,", ".Cm \(name)", "runs."]
    }
    return lines
  }

  private var arguments: [String] {
    let shown = command.shownArguments
    if shown.isEmpty { return [] }
    var lines = [".Pp", "The arguments are:", ".Bl -tag -width Ds"]
    for argument in shown {
      let names = (argument.names ?? []).map(\.flag).sorted { $0.count < $1.count }
      let value = argument.kind == .option ? " Ar \(argument.valueName ?? "value")" : ""
      lines.append(
        names.isEmpty
          ? ".It Ar \(argument.valueName ?? "value")"
          : ".It " + names.map { "Fl \($0)\(value)" }.joined(separator: " , "))
      var text = argument.abstract ?? ""
      if let values = argument.allValues, argument.kind != .flag, !values.allSatisfy({ text.contains($0) }) {
        text += " One of \(values.joined(separator: ", "))."
      }
      if let fallback = argument.defaultValue, argument.kind != .flag, argument.allValues?.contains(fallback) != false {
        text += " The default is \(fallback)."
      }
      lines.append(Self.roff(text.isEmpty ? "No description." : text))
    }
    lines.append(".El")
    return lines
  }

  private var seeAlso: [String] {
    let parent = command.path.dropLast()
    let others =
      (parent.isEmpty ? [] : [parent.joined(separator: "-")]) + command.shown.map { $0.path.joined(separator: "-") }
    if others.isEmpty { return [] }
    let sorted = others.sorted()
    return [".Sh SEE ALSO"]
      + sorted.enumerated().map { index, name in ".Xr \(name) 1\(index == sorted.count - 1 ? "" : " ,")" }
  }

  private static func form(_ argument: CommandInfo.Argument) -> String {
    let value = "Ar \(argument.valueName ?? "value")"
    guard let name = argument.preferredName else { return value }
    return argument.kind == .flag ? "Fl \(name.flag)" : "Fl \(name.flag) \(value)"
  }

  /// The environment variables that the program reads.
  private var environment: [String] {
    let introduction = manual.environmentIntroduction
    return [".Sh ENVIRONMENT"] + (introduction.isEmpty ? [] : [Self.roff(introduction)]) + [".Bl -tag -width Ds"]
      + manual.environment.flatMap { [".It Ev \($0.name)", Self.roff($0.text)] } + [
        ".It Ev NO_COLOR", "If it is not empty, output is not coloured.", ".It Ev COLUMNS",
        "The width of tables if the standard output is not a terminal.", ".El",
      ]
  }

  private static var exitStatus: [String] {
    [".Sh EXIT STATUS", ".Bl -tag -width Ds"]
      + CommandStatus.documented.flatMap { status, meaning in [".It \(status)", roff(sentence(meaning))] } + [".El"]
  }

  static func sentence(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() + "." }

  private static func oneLine(_ text: String) -> String {
    let text = text.hasSuffix(".") ? String(text.dropLast()) : text
    return roff(text)
  }

  private static func paragraphs(_ texts: [String]) -> [String] {
    texts.enumerated().flatMap { index, text in (index == 0 ? [] : [".Pp"]) + [roff(text)] }
  }

  /// Text for roff: one sentence a line, with nothing that it would read as a request.
  static func roff(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\e"
      case "-": escaped += "\\-"
      case "`": escaped += "\\(ga"
      case "'": escaped += "\\(aq"
      case "\n": escaped += " "
      case _ where scalar.isASCII: escaped.unicodeScalars.append(scalar)
      default: escaped += "\\[u" + String(repeating: "0", count: max(0, 4 - hex(scalar).count)) + hex(scalar) + "]"
      }
    }
    return escaped.replacing(/([.:?!]) +(?=[A-Z])/) { "\($0.output.1)\n" }
      .split(separator: "\n").map { $0.hasPrefix(".") ? "\\&\($0)" : String($0) }.joined(separator: "\n")
  }

  private static func hex(_ scalar: Unicode.Scalar) -> String { String(scalar.value, radix: 16, uppercase: true) }
}
