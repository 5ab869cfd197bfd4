import Foundation

/// The locations of the servers' programs.
public enum ServerPrograms {
  /// The path of `name`: in `PATH`, else in the folders that Debian does not add to it.
  ///
  /// - Throws: `.missingProgram`, with the missing program and how to install it.
  public static func find(_ name: String) throws(PrivateServerError) -> String {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":").map(
      String.init)
    for folder in folders + postgresFolders + ["/usr/sbin", "/sbin"] {
      let path = folder + "/" + name
      if FileManager.default.isExecutableFile(atPath: path) { return path }
    }
    throw PrivateServerError(
      .missingProgram,
      "\(name) is missing: neither in PATH nor in /usr/lib/postgresql/*/bin; "
        + "`make setup` installs it (package \(package(of: name)))"
    )
  }

  /// The newest version's folder first.
  private static var postgresFolders: [String] {
    let root = "/usr/lib/postgresql"
    guard FileManager.default.fileExists(atPath: root) else { return [] }
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: root) } catch { return [] }
    return names.sorted { $0.compare($1, options: .numeric) == .orderedDescending }.map { "\(root)/\($0)/bin" }
  }

  private static func package(of name: String) -> String {
    switch name {
    case "redis-server", "redis-cli": "redis-server"
    case "setpriv": "util-linux"
    default: "postgresql"
    }
  }
}
