/// The source of a value.
public enum SettingsSource: Sendable, Hashable {
  case flags
  case environment
  /// A file with one secret.
  case secretFile
  case file(path: String)
  case fallback

  func name(of setting: Setting) -> String {
    switch self {
    case .flags: "the flag --\(setting.flag)"
    case .environment: "the environment"
    case .secretFile: "the file that \(setting.secretFileVariable) names"
    case .file(let path): "\(setting.path) in \(path)"
    case .fallback: "the default"
    }
  }
}
