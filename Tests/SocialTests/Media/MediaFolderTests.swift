import Foundation
import Glibc
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2)))
struct MediaFolderTests {
  private func mode(_ path: String) throws -> mode_t {
    var status = stat()
    try #require(lstat(path, &status) == 0, "\(path)")
    return status.st_mode & 0o7777
  }

  private func inode(_ path: String) throws -> ino_t {
    var status = stat()
    try #require(lstat(path, &status) == 0, "\(path)")
    return status.st_ino
  }

  @Test func foldersAreForTheUserAndTheGroupAndObjectsAreForReading() async throws {
    try await MediaStage.run(.folder) { stage in
      let key = try MediaStage.key(1)
      try await stage.put([1], at: key)
      let root = stage.files.appending(path: "store").path
      for folder in ["", "/.incoming", "/\(key.shelf)", "/\(key.shelf)/\(key.file)"] {
        #expect(try mode(root + folder) == 0o750, "\(folder)")
      }
      #expect(try mode("\(root)/\(key.shelf)/\(key)") == 0o440)
    }
  }

  @Test func anObjectIsLinkedWhereItCanBe() async throws {
    try await MediaStage.run(.folder) { stage in
      let key = try MediaStage.key(1)
      try await stage.put([1], at: key)
      let path = stage.files.appending(path: "fetched").path
      try await stage.store.fetch(key, to: path)
      let stored = "\(stage.files.path)/store/\(key.shelf)/\(key)"
      #expect(try inode(path) == inode(stored))
      // A fetched file stays when the object is removed.
      try await stage.store.remove([key])
      #expect([UInt8](try Data(contentsOf: URL(filePath: path))) == [1])
    }
  }

  @Test func aFileOfTheSameDiskIsStoredWithoutBeingCopied() async throws {
    try await MediaStage.run(.folder) { stage in
      let key = try MediaStage.key(1)
      let path = stage.files.appending(path: "original").path
      try Data([1, 2]).write(to: URL(filePath: path))
      try await stage.store.put(path, at: key, contentType: "image/jpeg")
      let stored = "\(stage.files.path)/store/\(key.shelf)/\(key)"
      #expect(try inode(path) == inode(stored))
      #expect(try mode(stored) == 0o440)
      #expect(try FileManager.default.contentsOfDirectory(atPath: stage.files.path + "/store/.incoming").isEmpty)
    }
  }

  @Test func aFileOfAnotherDiskIsCopiedIntoTheStore() async throws {
    try await MediaStage.run(.folder) { stage in
      let (key, bytes) = (try MediaStage.key(1), MediaStage.random(700_000))
      let path = "/dev/shm/fanmill-\(UUID())"
      defer { unlink(path) }
      try Data(bytes).write(to: URL(filePath: path))
      try await stage.store.put(path, at: key, contentType: "image/jpeg")
      let stored = "\(stage.files.path)/store/\(key.shelf)/\(key)"
      #expect([UInt8](try Data(contentsOf: URL(filePath: stored))) == bytes)
    }
  }

  @Test func anObjectIsCopiedToAnotherDisk() async throws {
    var (here, there) = (stat(), stat())
    try #require(lstat(FileManager.default.temporaryDirectory.path, &here) == 0 && lstat("/dev/shm", &there) == 0)
    try #require(here.st_dev != there.st_dev, "the temporary folder is on the same disk as /dev/shm")
    try await MediaStage.run(.folder) { stage in
      let (key, bytes) = (try MediaStage.key(1), MediaStage.random(700_000))
      try await stage.put(bytes, at: key)
      let path = "/dev/shm/fanmill-\(UUID())"
      defer { unlink(path) }
      try await stage.store.fetch(key, to: path)
      #expect([UInt8](try Data(contentsOf: URL(filePath: path))) == bytes)
    }
  }

  @Test func noLinkLeadsOut() async throws {
    try await MediaStage.run(.folder) { stage in
      let root = stage.files.appending(path: "store").path
      let outside = stage.files.appending(path: "outside").path
      let (one, two, three) = (try MediaStage.key(1), try MediaStage.key(2), try MediaStage.key(3))
      try await stage.put([1], at: one)
      try FileManager.default.createDirectory(
        atPath: "\(outside)/\(three.file)", withIntermediateDirectories: true)
      for path in ["\(outside)/original", "\(outside)/\(three.file)/original"] {
        try Data("outside".utf8).write(to: URL(filePath: path))
      }
      // A form, a picture and a shelf that are links to targets outside.
      try FileManager.default.removeItem(atPath: "\(root)/\(one.shelf)/\(one)")
      try FileManager.default.createSymbolicLink(
        atPath: "\(root)/\(one.shelf)/\(one)", withDestinationPath: "\(outside)/original")
      try FileManager.default.createDirectory(
        atPath: "\(root)/\(two.shelf)", withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: "\(root)/\(two.shelf)/\(two.file)", withDestinationPath: outside)
      try FileManager.default.createSymbolicLink(
        atPath: "\(root)/\(three.shelf)", withDestinationPath: outside)
      let fetched = stage.files.appending(path: "fetched").path
      for key in [one, two, three] {
        #expect(await storeError { try await stage.store.fetch(key, to: fetched) }?.code == .folder)
        #expect(await storeError { _ = try await stage.store.source(of: key) }?.code == .folder)
      }
      #expect(!FileManager.default.fileExists(atPath: fetched))
      #expect(try await stage.objects().isEmpty)
      for key in [two, three] {
        #expect(await storeError { try await stage.put([2], at: key) }?.code == .folder)
        #expect(await storeError { try await stage.store.remove([key]) }?.code == .folder)
      }
      // A link in an object's place is itself replaced and removed, not its target.
      try await stage.put([3], at: one)
      #expect(try await stage.fetch(one) == [3])
      for path in ["\(outside)/original", "\(outside)/\(three.file)/original"] {
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "outside")
      }
    }
  }

  @Test func aPipeInAnObjectsPlaceHoldsNobodyUp() async throws {
    try await MediaStage.run(.folder) { stage in
      let key = try MediaStage.key(1)
      try await stage.put([1], at: key)
      let path = "\(stage.files.path)/store/\(key.shelf)/\(key)"
      try FileManager.default.removeItem(atPath: path)
      try #require(mkfifo(path, 0o600) == 0)
      #expect(await storeError { _ = try await stage.store.source(of: key) }?.code == .folder)
      #expect(try await stage.objects().isEmpty)
    }
  }

  @Test func whatAKilledWriterLeftGoesAfterADay() async throws {
    try await MediaStage.run(.folder) { stage in
      try await stage.store.check()
      let incoming = stage.files.appending(path: "store/.incoming")
      for (name, age) in [("old", 90_000.0), ("new", 3600)] {
        let path = incoming.appending(path: name)
        try Data("part".utf8).write(to: path)
        try FileManager.default.setAttributes(
          [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: path.path)
      }
      try await stage.store.check()
      #expect(try FileManager.default.contentsOfDirectory(atPath: incoming.path) == ["new"])
    }
  }

  @Test func aPictureWithoutObjectsLeavesNoFolder() async throws {
    try await MediaStage.run(.folder) { stage in
      let keys = [try MediaStage.key(1, .original), try MediaStage.key(1, .thumbJPEG)]
      for key in keys { try await stage.put([1], at: key) }
      let folder = "\(stage.files.path)/store/\(keys[0].shelf)/\(keys[0].file)"
      try await stage.store.remove([keys[0]])
      #expect(FileManager.default.fileExists(atPath: folder))
      try await stage.store.remove([keys[1]])
      #expect(!FileManager.default.fileExists(atPath: folder))
    }
  }

  @Test func aFolderThatCannotBeUsedIsNamed() async throws {
    try await MediaStage.run(.folder) { stage in
      let file = try stage.file([1])
      for path in [file, "\(file)/media", "/sys/fanmill"] {
        let error = await storeError { try await MediaFolder(path: path).check() }
        #expect(error?.code == .folder && error?.message.contains(file == path ? file : "/") == true)
        #expect(error?.message.contains("remove it") == true || error?.message.contains("FANMILL_MEDIA_DIR") == true)
      }
    }
  }

  @Test func aFullDiskIsNamed() {
    for error in [MediaStoreError.folder("/media", ENOSPC), .folder("/media", EDQUOT), .file("/tmp/a", ENOSPC)] {
      #expect(error.code == .diskFull && error.message.contains("free some space"))
    }
  }
}
