import DurableJobsAdmin
import Foundation

/// The locations of the running program's files: other programs, migrations, example data.
public enum ProgramFiles {
  /// The folder of the running executable, with symbolic links resolved.
  public static var executableFolder: String {
    let path: String
    do {
      path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    } catch {
      path = CommandLine.arguments.first ?? "."
    }
    return URL(fileURLWithPath: path).deletingLastPathComponent().path
  }

  /// The path of `name`, a program that is built and installed beside this one.
  ///
  /// - Throws: `.failed`, with the expected path.
  public static func program(_ name: String) throws(OperationError) -> String {
    let path = executableFolder + "/" + name
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw OperationError(.failed, "\(name) is not beside fanmill (\(path)): build all programs with `make build`")
    }
    return path
  }

  /// The folder of the migrations: installed in `../share/fanmill`, in the current folder, or the project's own, above
  /// the build folder or the current one.
  public static func migrations() throws(OperationError) -> String {
    try find("migrations") { "no migrations folder: give it with --migrations (searched \($0))" }
  }

  /// The folder of the example data, searched for like the migrations.
  public static func exampleData() throws(OperationError) -> String {
    try find("Data") { "no example data: run this in the project's folder (searched \($0))" }
  }

  private static func find(_ name: String, _ complaint: (String) -> String) throws(OperationError) -> String {
    let folder = URL(fileURLWithPath: executableFolder)
    let current = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
    var candidates = [folder.appendingPathComponent("../share/fanmill").standardizedFileURL, current]
    for start in [folder, current] {
      var place = start
      while place.path != "/" {
        if FileManager.default.fileExists(atPath: place.appendingPathComponent("Package.swift").path) {
          candidates.append(place)
        }
        place.deleteLastPathComponent()
      }
    }
    for candidate in candidates {
      let path = candidate.appendingPathComponent(name).path
      if FileManager.default.fileExists(atPath: path) { return path }
    }
    throw OperationError(.failed, complaint(candidates.map(\.path).joined(separator: ", ")))
  }
}
