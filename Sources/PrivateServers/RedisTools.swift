import Foundation
import Glibc

/// redis-cli, aimed at one private server; for set-up, where no client is at hand yet.
enum RedisTools {
  /// Runs one command and returns its reply as redis-cli writes it, a line each element.
  ///
  /// - Throws: `.failed` for an error reply.
  static func run(
    _ target: [String], _ password: String?, _ words: [String]
  ) async throws(PrivateServerError) -> String {
    let output = "/tmp/fanmill-redis-cli-\(getpid())-\(UUID().uuidString)"
    defer { unlink(output) }
    // -e: an error reply is an exit status.
    let login = password.map { ["--no-auth-warning", "-a", $0] } ?? []
    let status = try await ServerProcess.run(
      ServerProcess.Plan(
        program: try ServerPrograms.find("redis-cli"), arguments: target + ["-e"] + login + words, log: output,
        folder: "/"))
    let text = FileManager.default.contents(atPath: output).map { String(decoding: $0, as: UTF8.self) } ?? ""
    guard status == 0 else {
      throw PrivateServerError(.failed, "redis-cli \(words.joined(separator: " ")) failed: \(text)")
    }
    return text.trimmingCharacters(in: .newlines)
  }
}
