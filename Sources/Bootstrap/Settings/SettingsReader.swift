import Configuration

/// Looks up a setting in the flags, then the environment, then the secret files, then the settings file. An empty value
/// counts as missing.
struct SettingsReader {
  struct Found<Value> {
    let value: Value
    let source: SettingsSource
  }

  private let layers: [(source: SettingsSource, snapshot: any ConfigSnapshot)]

  /// - Parameter secretFiles: the contents of the secret files, by the settings' variables.
  init(
    flags: [Setting: String], environment: [String: String], secretFiles: [String: String] = [:], file: SettingsFile?
  ) {
    // Flags get the variables' names, so that both are parsed by the same rules.
    let named = Dictionary(uniqueKeysWithValues: flags.map { ($0.key.variable, $0.value) })
    var layers: [(source: SettingsSource, snapshot: any ConfigSnapshot)] = [
      (.flags, EnvironmentVariablesProvider(environmentVariables: Self.nonEmpty(named)).snapshot()),
      (.environment, EnvironmentVariablesProvider(environmentVariables: Self.nonEmpty(environment)).snapshot()),
    ]
    if !secretFiles.isEmpty {
      let snapshot = EnvironmentVariablesProvider(environmentVariables: Self.nonEmpty(secretFiles)).snapshot()
      layers.append((.secretFile, snapshot))
    }
    if let file { layers.append((.file(path: file.path), file.snapshot)) }
    self.layers = layers
  }

  private static func nonEmpty(_ variables: [String: String]) -> [String: String] {
    variables.filter { !$0.value.allSatisfy(\.isWhitespace) }
  }

  func text(_ setting: Setting) throws(SettingsError) -> Found<String>? {
    guard let found = try content(of: setting, as: .string, "not a string") else { return nil }
    guard case .string(let text) = found.value else { return nil }
    try refuseExample(text, of: setting, from: found.source)
    return Found(value: text, source: found.source)
  }

  func number(_ setting: Setting, in range: ClosedRange<Int>) throws(SettingsError) -> Found<Int>? {
    let wanted = "not a whole number from \(range.lowerBound) to \(range.upperBound)"
    guard let found = try content(of: setting, as: .int, wanted) else { return nil }
    guard case .int(let number) = found.value else { return nil }
    guard range.contains(number) else {
      throw .invalid(setting, String(number), from: found.source, wanted)
    }
    return Found(value: number, source: found.source)
  }

  /// The entries, all non-empty.
  func list(_ setting: Setting) throws(SettingsError) -> Found<[String]>? {
    guard let found = try content(of: setting, as: .stringArray, "not a list of strings") else { return nil }
    guard case .stringArray(let entries) = found.value, !entries.isEmpty else { return nil }
    guard !entries.contains("") else {
      throw .invalid(setting, entries.joined(separator: ","), from: found.source, "an entry of the list is empty")
    }
    for entry in entries { try refuseExample(entry, of: setting, from: found.source) }
    return Found(value: entries, source: found.source)
  }

  private func refuseExample(
    _ text: String, of setting: Setting, from source: SettingsSource
  ) throws(SettingsError) {
    if ExampleValue.isCopied(text, for: setting) { throw .invalid(setting, nil, from: source, ExampleValue.reason) }
  }

  private func content(
    of setting: Setting, as type: ConfigType, _ wanted: String
  ) throws(SettingsError) -> Found<ConfigContent>? {
    for layer in layers {
      let key: AbsoluteConfigKey
      if case .file = layer.source {
        key = AbsoluteConfigKey(setting.components)
      } else {
        key = AbsoluteConfigKey(["fanmill"] + setting.components)
      }
      do {
        if let value = try layer.snapshot.value(forKey: key, type: type).value {
          return Found(value: value.content, source: layer.source)
        }
      } catch {
        throw .invalid(setting, Self.spelling(of: key, in: layer.snapshot), from: layer.source, wanted)
      }
    }
    return nil
  }

  /// The value as text of any type, for a message.
  private static func spelling(of key: AbsoluteConfigKey, in snapshot: any ConfigSnapshot) -> String {
    for type in [ConfigType.string, .double, .stringArray] {
      // A value has one type; a failure only means that it is another one.
      guard let value = try? snapshot.value(forKey: key, type: type).value else { continue }
      switch value.content {
      case .string(let text): return text
      case .double(let number): return number.description
      case .stringArray(let entries): return entries.joined(separator: ",")
      default: continue
      }
    }
    return "…"
  }
}
