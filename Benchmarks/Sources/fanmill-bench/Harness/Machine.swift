import Foundation
import PrivateServers

/// The machine behind the figures, without which they mean nothing.
struct Machine: Sendable {
  let facts: [(name: String, value: String)]

  static func describe() async throws -> Machine {
    let processor = try String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8).split(separator: "\n")
      .first { $0.hasPrefix("model name") }?.split(separator: ":").last?.trimmingCharacters(in: .whitespaces)
    let kernel = try String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)
      .trimmingCharacters(in: .whitespacesAndNewlines)
    var facts = [
      ("CPU", "\(processor ?? "unknown") × \(ProcessInfo.processInfo.activeProcessorCount)"),
      ("kernel", kernel),
    ]
    if let redis = try await version("redis-server", "--version", after: "v=") { facts.append(("Redis", redis)) }
    if let postgres = try await version("postgres", "--version", after: "(PostgreSQL) ") {
      facts.append(("Postgres", postgres))
    }
    if let sidekiq = try await Sidekiq.versions() {
      facts.append(("Ruby", sidekiq.ruby))
      facts.append(("Sidekiq", sidekiq.sidekiq))
    }
    return Machine(facts: facts)
  }

  private static func version(_ program: String, _ flag: String, after mark: String) async throws -> String? {
    let text = try await Child.output([try ServerPrograms.find(program), flag])
    guard let range = text.range(of: mark) else { return nil }
    return text[range.upperBound...].split(whereSeparator: \.isWhitespace).first.map(String.init)
  }
}
