import Foundation

extension Settings {
  /// Secrets stored in separate files, by the variables of their settings: `FANMILL_ADMIN_TOKEN_FILE` names the file of
  /// `FANMILL_ADMIN_TOKEN`. Only secrets have such files. A variable with a value takes precedence, and its file is not
  /// read.
  ///
  /// - Throws: for a file that cannot be read.
  static func secretFiles(_ environment: [String: String]) throws(SettingsError) -> [String: String] {
    var values: [String: String] = [:]
    for setting in Setting.all where setting.isSecret {
      guard environment[setting.variable]?.allSatisfy(\.isWhitespace) ?? true,
        let path = environment[setting.secretFileVariable], !path.allSatisfy(\.isWhitespace)
      else { continue }
      let data: Data
      do {
        data = try Data(contentsOf: URL(filePath: path))
      } catch {
        let reason = (error as NSError).code == NSFileReadNoSuchFileError ? "does not exist" : "cannot be read"
        throw SettingsError(.file, "\(setting.secretFileVariable) names \(path), which \(reason)")
      }
      guard let text = String(validating: data, as: UTF8.self) else {
        throw SettingsError(.file, "\(setting.secretFileVariable) names \(path), which is not text in UTF-8")
      }
      values[setting.variable] = text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
    return values
  }
}

extension Setting {
  /// For example `FANMILL_ADMIN_TOKEN_FILE`.
  var secretFileVariable: String { variable + "_FILE" }
}
