import Cryptography
import Foundation

/// One numbered step of the schema: a file `NNNN_name.sql`, whose SQL up to a line `-- down` applies the step and whose
/// rest reverts it.
public struct Migration: Sendable, Hashable {
  public let number: Int
  public let name: String
  /// The SQL that applies the step.
  public let up: String
  /// The SQL that reverts it; nil if the file has no line `-- down`.
  public let down: String?
  /// The SHA-256 of the whole file, in hexadecimal digits.
  public let hash: String

  /// The file's name.
  public let file: String

  /// Parses a file's text.
  ///
  /// - Throws: `.unreadable` if the file's name is not of the form `NNNN_name.sql`, or the file contains no SQL.
  public init(file: String, text: String) throws(MigrationError) {
    let parts = file.dropLast(4).split(separator: "_", maxSplits: 1)
    guard file.hasSuffix(".sql"), parts.count == 2, parts[0].utf8.count == 4, let number = Int(parts[0]), number > 0
    else {
      throw MigrationError(
        .unreadable,
        "\(file) is not a migration's name: use four digits, '_', a name and '.sql', such as 0012_likes.sql")
    }
    self.file = file
    self.number = number
    name = String(parts[1])
    hash = SHA256.hash(of: text.utf8).hexadecimal
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let border = lines.firstIndex { $0.trimmingCharacters(in: .whitespaces) == "-- down" }
    up = lines[..<(border ?? lines.endIndex)].joined(separator: "\n")
    down = border.map { lines[($0 + 1)...].joined(separator: "\n") }
    guard up.contains(where: { !$0.isWhitespace }) else {
      throw MigrationError(.unreadable, "\(file) has no SQL before its line '-- down'")
    }
  }

  /// All migrations in a folder, ordered by number. Files that do not end in `.sql` are ignored.
  ///
  /// - Throws: `.unreadable` if the folder or a file cannot be read, a name is invalid, or two share a number.
  public static func all(in folder: String) throws(MigrationError) -> [Migration] {
    var migrations: [Migration] = []
    for file in try names(in: folder) where file.hasSuffix(".sql") {
      migrations.append(try Migration(file: file, text: try text(of: file, in: folder)))
    }
    migrations.sort { $0.number < $1.number }
    for (one, next) in zip(migrations, migrations.dropFirst()) where one.number == next.number {
      throw MigrationError(
        .unreadable, "\(one.file) and \(next.file) have the same number: give one of them the next free")
    }
    return migrations
  }

  private static func names(in folder: String) throws(MigrationError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      throw MigrationError(
        .unreadable, "the folder of migrations \(folder) cannot be read: \(error.localizedDescription)")
    }
  }

  private static func text(of file: String, in folder: String) throws(MigrationError) -> String {
    do {
      return try String(contentsOfFile: folder + "/" + file, encoding: .utf8)
    } catch {
      throw MigrationError(
        .unreadable, "the migration \(folder)/\(file) cannot be read as UTF-8: \(error.localizedDescription)")
    }
  }
}
