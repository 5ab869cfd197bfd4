import Foundation
import Testing

@testable import Social

/// The promises of every store.
@Suite(.timeLimit(.minutes(5)))
struct MediaStoreTests {
  typealias Kind = MediaStage.Kind

  @Test(arguments: Kind.allCases, [0, 1, 100_000, 6_000_000])
  func whatIsPutIsFetched(_ kind: Kind, _ size: Int) async throws {
    try await MediaStage.run(kind) { stage in
      let bytes = MediaStage.random(size)
      for name in MediaKey.Name.allCases {
        let key = try MediaStage.key(1, name)
        #expect(try await stage.fetch(key) == nil)
        try await stage.put(bytes, at: key)
        #expect(try await stage.fetch(key) == bytes)
        if size > 100_000 { break }
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func puttingAgainChangesNothing(_ kind: Kind) async throws {
    try await MediaStage.run(kind) { stage in
      let (key, bytes) = (try MediaStage.key(1), MediaStage.random(1000))
      for _ in 0..<3 { try await stage.put(bytes, at: key) }
      #expect(try await stage.fetch(key) == bytes)
      #expect(try await stage.objects().map(\.key) == [key])
    }
  }

  @Test(arguments: Kind.allCases)
  func aReaderSeesTheWholeObjectOrNone(_ kind: Kind) async throws {
    try await MediaStage.run(kind) { stage in
      let key = try MediaStage.key(1)
      let versions = [MediaStage.random(300_000), MediaStage.random(200_000)]
      try await withThrowingTaskGroup(of: Void.self) { group in
        for version in versions {
          group.addTask { for _ in 0..<8 { try await stage.put(version, at: key) } }
        }
        for _ in 0..<2 {
          group.addTask {
            for _ in 0..<16 {
              let bytes = try await stage.fetch(key)
              #expect(bytes.map(versions.contains) ?? true)
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func whatIsFetchedReplacesTheFileThatWasThere(_ kind: Kind) async throws {
    try await MediaStage.run(kind) { stage in
      let (key, bytes) = (try MediaStage.key(1), MediaStage.random(1000))
      try await stage.put(bytes, at: key)
      let path = try stage.file([1, 2, 3])
      for _ in 0..<2 {
        try await stage.store.fetch(key, to: path)
        #expect([UInt8](try Data(contentsOf: URL(filePath: path))) == bytes)
      }
      let missing = await storeError { try await stage.store.fetch(try MediaStage.key(2), to: path) }
      #expect(missing?.code == .missing)
      #expect([UInt8](try Data(contentsOf: URL(filePath: path))) == bytes)
      let left = try FileManager.default.contentsOfDirectory(atPath: stage.files.path)
      #expect(!left.contains { $0.contains(".part-") }, "\(left)")
    }
  }

  @Test(arguments: Kind.allCases)
  func whatIsRemovedIsMissing(_ kind: Kind) async throws {
    try await MediaStage.run(kind) { stage in
      let keys = try (0..<30).map { try MediaStage.key($0 / 3, MediaKey.Name.allCases[$0 % 3]) }
      for key in keys.prefix(29) { try await stage.put([1], at: key) }
      // The last is already missing.
      try await stage.store.remove(Array(keys.dropFirst(2)))
      #expect(Set(try await stage.objects().map(\.key)) == Set(keys.prefix(2)))
      try await stage.store.remove(keys)
      try await stage.store.remove(keys)
      try await stage.store.remove([])
      #expect(try await stage.objects().isEmpty)
      #expect(try await stage.fetch(keys[0]) == nil)
    }
  }

  @Test(arguments: Kind.allCases)
  func puttingAndRemovingAtOnceFailsNeither(_ kind: Kind) async throws {
    try await MediaStage.run(kind) { stage in
      let keys = [try MediaStage.key(1, .thumbWebP), try MediaStage.key(1, .feedWebP)]
      let path = try stage.file([1, 2, 3])
      try await withThrowingTaskGroup(of: Void.self) { group in
        for key in keys {
          group.addTask { for _ in 0..<40 { try await stage.store.put(path, at: key, contentType: "image/webp") } }
          group.addTask { for _ in 0..<40 { try await stage.store.remove([key]) } }
        }
        try await group.waitForAll()
      }
      for key in keys { try await stage.store.put(path, at: key, contentType: "image/webp") }
      #expect(try await stage.objects().map(\.key) == keys.sorted())
    }
  }

  @Test(arguments: Kind.allCases)
  func objectsAreListedInOrderPageByPage(_ kind: Kind) async throws {
    try await MediaStage.run(kind) { stage in
      let began = Date(timeIntervalSinceNow: -5)
      // For a bucket, more than one page is enough.
      let count = kind == .bucket ? 20 : 1005
      var sizes: [MediaKey: Int] = [:]
      for number in 0..<count {
        sizes[try MediaStage.key(number / 2, number % 2 == 0 ? .original : .fullJPEG)] = number % 7
      }
      let all = sizes
      try await withThrowingTaskGroup(of: Void.self) { group in
        for part in 0..<8 {
          group.addTask {
            for (index, (key, size)) in all.enumerated() where index % 8 == part {
              try await stage.put(MediaStage.random(size), at: key)
            }
          }
        }
        try await group.waitForAll()
      }
      let keys = all.keys.sorted()
      #expect(try await stage.store.objects(after: nil).map(\.key) == Array(keys.prefix(1000)))
      #expect(try await stage.store.objects(after: keys[count - 6]).map(\.key) == Array(keys.suffix(5)))
      let objects = try await stage.objects()
      #expect(objects.map(\.key) == keys)
      #expect(objects.allSatisfy { all[$0.key] == $0.bytes && $0.modified > began && $0.modified < Date() + 5 })
      // From a key that does not exist.
      let middle = try #require(objects.dropFirst(count / 2).first)
      let between = try #require(MediaKey(file: middle.key.file, name: .thumbWebP))
      #expect(try await stage.store.objects(after: between).first?.key == objects.first { $0.key > between }?.key)
      #expect(try await stage.store.objects(after: objects.last?.key).isEmpty)
    }
  }

  @Test(arguments: Kind.allCases)
  func whatIsNoObjectOfPicturesIsNotListed(_ kind: Kind) async throws {
    try await MediaStage.run(kind) { stage in
      #expect(try await stage.objects().isEmpty)
      let file = String(repeating: "ab", count: 16)
      let foreign = [
        "ab/file", "a&b", "zz/\(file)/original", "\(file)/thumb.png", "ab/\(file)/thumb.png",
        "ab/\(file.uppercased())/original", "original", "README",
      ]
      for name in foreign { try await stage.addForeign(name) }
      #expect(try await stage.objects().isEmpty)
      let key = try #require(MediaKey(file: file, name: .original))
      try await stage.put([1], at: key)
      #expect(try await stage.objects().map(\.key) == [key])
    }
  }

  @Test(arguments: Kind.allCases)
  func aSourceLeadsToTheBytes(_ kind: Kind) async throws {
    try await MediaStage.run(kind) { stage in
      let (key, bytes) = (try MediaStage.key(1, .feedJPEG), MediaStage.random(5000))
      try await stage.put(bytes, at: key, contentType: "image/jpeg")
      #expect(try await stage.bytes(try await stage.store.source(of: key)) == bytes)
      let missing = try MediaStage.key(2)
      if kind == .folder {
        #expect(await storeError { _ = try await stage.store.source(of: missing) }?.code == .missing)
      } else {
        #expect(try await stage.bytes(try await stage.store.source(of: missing)) == nil)
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func aFileThatIsNotThereIsTheCallersTrouble(_ kind: Kind) async throws {
    try await MediaStage.run(kind) { stage in
      let key = try MediaStage.key(1)
      for path in ["/nowhere/file", stage.files.path] {
        let error = await storeError { try await stage.store.put(path, at: key, contentType: "image/webp") }
        #expect(error?.code == .file && error?.message.contains(path) == true)
      }
      try await stage.put([1], at: key)
      let error = await storeError { try await stage.store.fetch(key, to: "/nowhere/file") }
      #expect(error?.code == .file && error?.message.contains("/nowhere/file") == true)
    }
  }

  @Test(arguments: Kind.allCases)
  func aStoreThatWorksPassesItsCheckAndKeepsNothingOfIt(_ kind: Kind) async throws {
    try await MediaStage.run(kind) { stage in
      for _ in 0..<3 { try await stage.store.check() }
      #expect(try await stage.objects().isEmpty)
    }
  }

  @Test(arguments: Kind.allCases)
  func aCancelledTaskGetsNothingDone(_ kind: Kind) async throws {
    try await MediaStage.run(kind) { stage in
      let key = try MediaStage.key(1)
      let path = try stage.file([1])
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        try await stage.store.put(path, at: key, contentType: "image/webp")
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try await stage.fetch(key) == nil)
    }
  }
}
