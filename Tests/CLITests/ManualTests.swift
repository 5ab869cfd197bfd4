import Foundation
import ProgramTestSupport
import Testing

@Suite("fanmill manual and completion", .timeLimit(.minutes(5)))
struct ManualTests {
  @Test("Every command has a man page with a name, what it does and its exit status")
  func pages() async throws {
    let folder = NSTemporaryDirectory() + "fanmill-test-\(UUID().uuidString)"
    defer { unlinkFolder(folder) }
    try await CLI()("manual", "--directory", folder)
    let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    for name in ["fanmill.1", "fanmill-jobs.1", "fanmill-jobs-enqueue.1", "fanmill-feed-rebuild.1"] {
      #expect(files.contains(name))
    }
    for file in files {
      let text = try String(contentsOfFile: folder + "/" + file, encoding: .utf8)
      for part in [".Sh NAME", ".Sh SYNOPSIS", ".Sh DESCRIPTION", ".Sh EXIT STATUS"] {
        #expect(text.contains(part), "\(file) has no \(part)")
      }
      // A line that begins with a dot is a macro, and macros have names of two or three letters.
      for line in text.split(separator: "\n") where line.hasPrefix(".") {
        #expect(line.prefixMatch(of: /\.[A-Z][A-Za-z]{1,2}(\ |$)/) != nil, "\(file): \(line)")
      }
    }
    #expect(try await CLI()("manual", "jobs", "enqueue").output.contains(".Fl -payload Ar payload"))
    let all = try await CLI()("manual").output
    #expect(all.contains("FANMILL_POSTGRES_URL") && all.contains(".It 78"))
    // Separate paragraphs in --help are separate here too.
    #expect(all.contains(".Pp\nExit status: 0"))
    #expect(try await CLI()("manual", "jobs", "nonsense", status: 64).errors.contains("jobs nonsense"))
    try await CLI()("manual", "jobs", "--directory", folder, status: 64)
    try await CLI()("manual", "--directory", "/proc/nowhere", status: 73)
  }

  @Test("Each shell has a script that completes commands, kinds and queues", arguments: ["bash", "zsh", "fish"])
  func completion(shell: String) async throws {
    let script = try await CLI()("completion", shell).output
    for word in ["enqueue", "posts.fan-out-chunk", "fanout-bulk", "youtube"] {
      #expect(script.contains(word), "\(word) is not completed")
    }
    try await CLI()("completion", "csh", status: 64)
  }

  private func unlinkFolder(_ path: String) {
    do { try FileManager.default.removeItem(atPath: path) } catch { Issue.record("\(path) is left: \(error)") }
  }
}
