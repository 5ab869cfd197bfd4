import DurableJobsAdmin
import Foundation
import Glibc
import Locking
import Testing

@testable import LocalStack

@Suite("The folder of a local stack")
struct LocalStackFolderTests {
  private func withFolder(_ body: (LocalStackFolder) throws -> Void) throws {
    let parent = NSTemporaryDirectory() + "fanmill-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
    defer { do { try FileManager.default.removeItem(atPath: parent) } catch { Issue.record(error) } }
    try body(LocalStackFolder(in: parent))
  }

  @Test("Settings are read back as they were written, quotes and all, and nobody else can read them")
  func settings() throws {
    try withFolder { folder in
      let settings = [
        "FANMILL_POSTGRES_URL": "postgres://x/y?host=%2Ftmp&a=b", "FANMILL_ADMIN_TOKEN": "it's=a 'token'",
      ]
      try folder.make()
      try folder.write(settings)
      #expect(folder.settings() == settings)
      let mode = try FileManager.default.attributesOfItem(atPath: folder.environmentFile)[.posixPermissions] as? Int
      #expect(mode == 0o600)
      folder.removeSettings()
      #expect(folder.settings().isEmpty)
    }
  }

  @Test("Not for a moment can anybody else read the settings, not even while they are written")
  func privateFromTheStart() throws {
    try withFolder { folder in
      try folder.make()
      let state = Locked((isDone: false, isSeen: false, errors: [String]()))
      DispatchQueue.concurrentPerform(iterations: 2) { part in
        guard part == 0 else {
          while !state.withLock({ $0.isDone }) {
            for file in [folder.environmentFile, folder.environmentFile + ".new"] {
              var found = stat()
              if stat(file, &found) == 0, found.st_mode & 0o077 != 0 { state.withLock { $0.isSeen = true } }
            }
          }
          return
        }
        for _ in 0..<500 {
          do { try folder.write(["FANMILL_ADMIN_TOKEN": "t"]) } catch {
            state.withLock { $0.errors.append("\(error)") }
          }
        }
        state.withLock { $0.isDone = true }
      }
      #expect(state.withLock { !$0.isSeen && $0.errors.isEmpty })
    }
  }

  @Test("One stack at a time; a lock that is let go leaves nobody, whatever the file says")
  func lock() throws {
    try withFolder { folder in
      #expect(folder.runner == nil)
      var lock: LocalStackLock? = try folder.lock()
      #expect(lock != nil)
      #expect(folder.runner == getpid())
      let error = #expect(throws: OperationError.self) { _ = try folder.lock() }
      #expect(error?.code == .conflict)
      #expect(error?.message.contains("\(getpid())") == true)
      lock = nil
      #expect(folder.runner == nil)
      lock = try folder.lock()
      #expect(folder.runner == getpid())
    }
  }
}
