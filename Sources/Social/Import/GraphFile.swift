import LibPQClient

/// A file of accounts or follows, to be loaded into a temporary table.
struct GraphFile {
  private var path: String
  private var table: String
  private var columns: [String]
  /// Parses the two fields of a line, or returns what is wrong with it.
  private var check: @Sendable ([ArraySlice<UInt8>]) -> Result<(String, String), Problem>

  struct Problem: Error { var text: String }

  static func users(_ path: String) -> GraphFile {
    GraphFile(path: path, table: "import_users", columns: ["username", "major"]) { fields in
      guard fields.count <= 2 else {
        return .failure(
          Problem(text: "\(fields.count) fields instead of username and major, separated by a tab"))
      }
      guard let username = Self.username(fields[0]) else { return .failure(Self.badUsername(fields[0])) }
      let major = fields.count == 2 ? String(validating: fields[1], as: UTF8.self) : ""
      guard let major, major.unicodeScalars.count <= 100, !major.utf8.contains(0) else {
        return .failure(Problem(text: "the major must be text of at most 100 characters"))
      }
      return .success((username, major))
    }
  }

  static func follows(_ path: String) -> GraphFile {
    GraphFile(path: path, table: "import_follows", columns: ["follower", "followee"]) { fields in
      guard fields.count == 2 else {
        return .failure(
          Problem(
            text:
              "\(fields.count == 1 ? "1 field" : "\(fields.count) fields") instead of follower and followee, "
              + "separated by a tab"
          ))
      }
      guard let follower = Self.username(fields[0]) else { return .failure(Self.badUsername(fields[0])) }
      guard let followee = Self.username(fields[1]) else { return .failure(Self.badUsername(fields[1])) }
      guard NormalForm.compared(follower) != NormalForm.compared(followee) else {
        return .failure(Problem(text: "\(follower) cannot follow itself"))
      }
      return .success((follower, followee))
    }
  }

  /// Loads the file into its table.
  func load(into transaction: PostgresTransaction, progress: (Int) -> Void) async throws {
    try await transaction.executeScript(
      "CREATE TEMPORARY TABLE \(table) (line bigint, \(columns[0]) text, \(columns[1]) text) ON COMMIT DROP")
    let reader = try LineReader(path: path)
    var problems: [GraphImportError.Line] = []
    try await transaction.copyIn(into: table, columns: ["line"] + columns) { writer in
      while let line = try await reader.next() {
        if reader.number % 10_000 == 0 { progress(reader.number) }
        if line.isEmpty || line.first == UInt8(ascii: "#") { continue }
        let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        switch check(fields) {
        case .success(let pair): try await writer.write(reader.number, pair.0, pair.1)
        case .failure(let problem):
          problems.append(GraphImportError.Line(file: path, number: reader.number, problem: problem.text))
          if problems.count == GraphImportError.maxCount { throw GraphImportError(problems) }
        }
      }
    }
    if !problems.isEmpty { throw GraphImportError(problems) }
    progress(reader.number)
    try await transaction.executeScript("ANALYZE \(table)")
  }

  private static func username(_ field: ArraySlice<UInt8>) -> String? {
    FieldRules.isUsername(field) ? String(decoding: field, as: UTF8.self) : nil
  }

  private static func badUsername(_ field: ArraySlice<UInt8>) -> Problem {
    let shown = String(decoding: field.prefix(40), as: UTF8.self)
    return Problem(
      text: field.isEmpty
        ? "a username is missing"
        : "'\(shown)' is not a username: 1 to 100 letters (a–z), digits, '.', '_', '-' or '+', a letter or digit first")
  }
}
