import Foundation

/// The client's source text: constants have no other list.
enum ClientSource {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/FanmillClient")

  static func file(_ path: String) throws -> String {
    try String(contentsOf: folder.appending(path: path), encoding: .utf8)
  }

  /// The words that the client names, by the type of their constants.
  static func words() throws -> [String: Set<String>] {
    var words: [String: Set<String>] = [:]
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where path.hasSuffix(".swift") {
      for match in try file(path).matches(of: #/static let \S+ = (\w+)\(rawValue: "(.+?)"\)/#) {
        words[String(match.output.1), default: []].insert(String(match.output.2))
      }
    }
    return words
  }
}
