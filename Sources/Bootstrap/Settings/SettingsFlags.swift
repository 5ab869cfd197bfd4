import ArgumentParser
import Foundation

/// Where a program's settings come from besides its environment.
public protocol GivenSettings: Sendable {
  /// What stands on the command line.
  var flags: [Setting: String] { get }
  /// The settings file that the command line names.
  var file: String? { get }
}

extension GivenSettings {
  /// The settings from these flags, the process's environment and the file that one of them names.
  ///
  /// - Throws: ``SettingsError`` for the first thing wrong.
  public func settings(requiring required: [Setting] = []) throws(SettingsError) -> Settings {
    try Settings.read(
      flags: flags, environment: ProcessInfo.processInfo.environment, file: file, requiring: required)
  }
}

/// The flags of settings on the command line of a program with many commands, whose help lists none of them.
///
/// They are taken out before the commands' own flags are parsed: the parser goes through all that a command takes
/// several times, and sixty settings were most of it.
public struct SettingsFlags: GivenSettings, Equatable {
  public private(set) var flags: [Setting: String] = [:]
  public private(set) var file: String?
  /// The other words, in their order.
  public private(set) var rest: [String] = []

  private static let configFlag = "config"
  private static let known = Dictionary(uniqueKeysWithValues: Setting.all.map { ($0.flag, $0) })

  /// None.
  public init() {}

  /// - Parameter words: those behind the program's name. What follows a `--` is left as it is.
  /// - Throws: `ValidationError` for a flag without its value.
  public init(_ words: [String]) throws {
    var words = words[...]
    while let word = words.popFirst() {
      if word == "--" {
        rest += [word] + words
        return
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let name = String(parts[0].dropFirst(2))
      guard word.hasPrefix("--"), name == Self.configFlag || Self.known[name] != nil else {
        rest.append(word)
        continue
      }
      if parts.count == 2 {
        take(name, parts[1])
      } else if let value = words.first, !value.hasPrefix("-") {
        take(name, value)
        words.removeFirst()
      } else {
        throw ValidationError("Missing value for '--\(name) <\(name)>'")
      }
    }
  }

  private mutating func take(_ name: String, _ value: String) {
    if let setting = Self.known[name] { flags[setting] = value } else { file = value }
  }
}
