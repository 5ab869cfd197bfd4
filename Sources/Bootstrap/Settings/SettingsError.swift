/// A missing or invalid setting. The description is one line with the setting, its source and the remedy.
public struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error.
  public struct Code: Sendable, Hashable {
    let name: String
    /// A required setting has no value.
    public static let missing = Code(name: "missing")
    /// A value is invalid for its setting.
    public static let invalid = Code(name: "invalid")
    /// The settings file cannot be read, or is malformed.
    public static let file = Code(name: "file")
  }

  public let code: Code
  public let description: String

  init(_ code: Code, _ description: String) {
    self.code = code
    // The description contains a value from outside; removing control characters keeps it on one line.
    self.description = String(
      description.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) })
  }

  /// The error for a required setting without a value.
  public static func missing(_ setting: Setting) -> SettingsError {
    var line = "\(setting.variable) is not set: give the environment variable, the flag --\(setting.flag)"
    line += " or \(setting.path) in the settings file"
    if let example = setting.example { line += ", for example \(example)" }
    return SettingsError(.missing, line)
  }

  /// - Parameter value: the given value, shown unless the setting is secret.
  static func invalid(
    _ setting: Setting, _ value: String?, from source: SettingsSource, _ reason: String
  ) -> SettingsError {
    var shown = ""
    var reason = reason
    if let value {
      if !setting.isSecret { shown = " is \"\(value.prefix(60))\(value.count > 60 ? "…" : "")\"" }
      // A parser's reason may quote the value.
      if setting.isSecret, reason.contains(value) { reason = "not a usable value" }
    }
    return SettingsError(.invalid, "\(setting.variable)\(shown) (from \(source.name(of: setting))): \(reason)")
  }
}
