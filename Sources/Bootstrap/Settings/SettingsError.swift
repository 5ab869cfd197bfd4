/// A setting that is missing or wrong; its description is one line that says which, where it stands and what to do.
public struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of the refusal.
  public struct Code: Sendable, Hashable {
    let name: String
    /// A setting without which the program cannot start has no value.
    public static let missing = Code(name: "missing")
    /// A value that means nothing for its setting.
    public static let invalid = Code(name: "invalid")
    /// The settings file cannot be read, or is not what it should be.
    public static let file = Code(name: "file")
  }

  public let code: Code
  public let description: String

  init(_ code: Code, _ description: String) {
    self.code = code
    // A value from outside stands in it: whatever it holds, it stays one line.
    self.description = String(
      description.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) })
  }

  /// A setting that has no value, and needs one.
  public static func missing(_ setting: Setting) -> SettingsError {
    var line = "\(setting.variable) is not set: give the environment variable, the flag --\(setting.flag)"
    line += " or \(setting.path) in the settings file"
    if let example = setting.example { line += ", for example \(example)" }
    return SettingsError(.missing, line)
  }

  /// - Parameter value: what was given, shown unless the setting is secret.
  static func invalid(
    _ setting: Setting, _ value: String?, from source: SettingsSource, _ reason: String
  ) -> SettingsError {
    var shown = ""
    var reason = reason
    if let value {
      if !setting.isSecret { shown = " is \"\(value.prefix(60))\(value.count > 60 ? "…" : "")\"" }
      // A parser's reason may quote what it was given.
      if setting.isSecret, reason.contains(value) { reason = "not a value that can be used" }
    }
    return SettingsError(.invalid, "\(setting.variable)\(shown) (from \(source.name(of: setting))): \(reason)")
  }
}
