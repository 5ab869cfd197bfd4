import Configuration
import Foundation

/// The settings file: a JSON object, nested by the dots of the settings' paths.
struct SettingsFile {
  let path: String
  let snapshot: any ConfigSnapshot

  /// Reads the file, and refuses unknown keys.
  init(path: String) throws(SettingsError) {
    let data: Data
    let tree: Node
    do {
      data = try Data(contentsOf: URL(filePath: path))
    } catch {
      let reason = (error as NSError).code == NSFileReadNoSuchFileError ? "no such file" : "cannot be read"
      throw SettingsError(.file, "settings file \(path): \(reason)")
    }
    do {
      tree = try JSONDecoder().decode(Node.self, from: data)
    } catch {
      throw SettingsError(.file, "settings file \(path): not a JSON document\(Self.place(in: data))")
    }
    guard case .object = tree else {
      throw SettingsError(.file, "settings file \(path): not a JSON object, such as {\"worker\": {\"port\": 9090}}")
    }
    let known = Set(Setting.all.map(\.path))
    for leaf in tree.leaves().sorted() where !known.contains(leaf) {
      let nearest = known.sorted().min { Self.distance($0, leaf) < Self.distance($1, leaf) } ?? ""
      throw SettingsError(.file, "settings file \(path): unknown key \"\(leaf)\"; did you mean \"\(nearest)\"?")
    }
    do {
      snapshot = try JSONSnapshot(data: data.bytes, providerName: path, parsingOptions: .default)
    } catch {
      throw SettingsError(.file, "settings file \(path): every value must be a string, a number or an array of strings")
    }
    self.path = path
  }

  /// The part of JSON needed to find the keys.
  private enum Node: Decodable {
    case object([String: Node])
    case value

    init(from decoder: any Decoder) throws {
      // The error only means that this is not an object.
      guard (try? decoder.container(keyedBy: AnyKey.self)) != nil else {
        self = .value
        return
      }
      self = .object(try [String: Node](from: decoder))
    }

    func leaves(under prefix: String = "") -> [String] {
      guard case .object(let members) = self else { return [prefix] }
      return members.flatMap { $0.value.leaves(under: prefix.isEmpty ? $0.key : "\(prefix).\($0.key)") }
    }
  }

  private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Where the document stops being valid JSON, as far as the parser reports it: an offset but no line.
  private static func place(in data: Data) -> String {
    do {
      _ = try JSONSerialization.jsonObject(with: data)
      return ""
    } catch {
      let detail = (error as NSError).userInfo["NSDebugDescription"] as? String
      guard let digits = detail?.split(whereSeparator: { !$0.isNumber }).last, let offset = Int(digits) else {
        return ""
      }
      let line = data.prefix(offset).count { $0 == UInt8(ascii: "\n") } + 1
      return ", see line \(line)"
    }
  }

  /// Levenshtein's edit distance.
  static func distance(_ a: String, _ b: String) -> Int {
    var row = Array(0...b.count)
    for (i, x) in a.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, y) in b.enumerated() {
        let replaced = diagonal + (x == y ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = min(replaced, diagonal + 1, row[j] + 1)
      }
    }
    return row[b.count]
  }
}
