import ArgumentParser
import Foundation

/// A program's settings from the command line.
public protocol GivenSettings: Sendable {
  /// The flags on the command line.
  var flags: [Setting: String] { get }
  /// The settings file named on the command line.
  var file: String? { get }
}

extension GivenSettings {
  /// The settings from these flags, the process's environment and the settings file that either names.
  ///
  /// - Throws: ``SettingsError`` for the first error.
  public func settings(requiring required: [Setting] = []) throws(SettingsError) -> Settings {
    try Settings.read(
      flags: flags, environment: ProcessInfo.processInfo.environment, file: file, requiring: required)
  }
}

/// The settings flags of a program with many commands, whose help does not list them.
///
/// They are removed before the commands' own flags are parsed: the parser scans a command's arguments several times,
/// and sixty settings were most of that work.
public struct SettingsFlags: GivenSettings, Equatable {
  public private(set) var flags: [Setting: String] = [:]
  public private(set) var file: String?
  /// The remaining words, in order.
  public private(set) var rest: [String] = []

  private static let configFlag = "config"
  private static let known = Dictionary(uniqueKeysWithValues: Setting.all.map { ($0.flag, $0) })

  public init() {}

  /// - Parameter words: the words after the program's name. Words after `--` are left unchanged.
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
