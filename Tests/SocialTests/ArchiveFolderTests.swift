import Foundation
import Testing

@testable import Social

@Suite struct ArchiveFolderTests {
  @Test func whatAKilledProcessLeftIsRemovedAndWhatIsInUseIsNot() async throws {
    try await FirebaseExport.withFolder { parent in
      let left = parent.appending(path: "fanmill-export-left")
      try FileManager.default.createDirectory(at: left, withIntermediateDirectories: false)
      try Data("all of ann's".utf8).write(to: left.appending(path: "account.zip"))
      let used = try ArchiveFolder(in: parent.path)
      let hourAgo = Date.now.addingTimeInterval(-3600)
      for path in [left.path, used.path] {
        try FileManager.default.setAttributes([.modificationDate: hourAgo], ofItemAtPath: path)
      }
      let young = parent.appending(path: "fanmill-export-young")
      try FileManager.default.createDirectory(at: young, withIntermediateDirectories: false)
      ArchiveFolder.removeLeftovers(in: parent.path)
      #expect(!FileManager.default.fileExists(atPath: left.path))
      #expect(FileManager.default.fileExists(atPath: used.path) && FileManager.default.fileExists(atPath: young.path))
      used.remove()
      #expect(!FileManager.default.fileExists(atPath: used.path))
    }
  }
}
