import CurlClient
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Social

/// A store for a test, with a folder for its files.
struct MediaStage: Sendable {
  enum Kind: String, CaseIterable, Sendable { case folder, bucket, bucketWithPrefix }

  let store: any MediaStore
  let files: URL
  /// Stores an object that is not a picture.
  let addForeign: @Sendable (_ name: String) async throws -> Void
  /// The bytes that a client gets from a source; nil for a missing object.
  let bytes: @Sendable (MediaSource) async throws -> [UInt8]?

  static func run(_ kind: Kind, _ body: @Sendable (MediaStage) async throws -> Void) async throws {
    let files = FileManager.default.temporaryDirectory.appending(path: "fanmill-media-\(UUID())")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await run(kind, files, body)) } catch { outcome = .failure(error) }
    try FileManager.default.removeItem(at: files)
    try outcome.get()
  }

  private static func run(
    _ kind: Kind, _ files: URL, _ body: @Sendable (MediaStage) async throws -> Void
  ) async throws {
    if kind == .folder {
      let root = files.appending(path: "store")
      return try await body(
        MediaStage(
          store: MediaFolder(path: root.path), files: files,
          addForeign: { name in
            let path = root.appending(path: name)
            try FileManager.default.createDirectory(
              at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data("foreign".utf8).write(to: path)
          },
          bytes: { source in
            guard case .file(let path, let count) = source else { return nil }
            let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
            #expect(bytes.count == count)
            return bytes
          }))
    }
    let server = try await MotoServer.shared()
    let bucket = try await server.makeBucket()
    let prefix = kind == .bucketWithPrefix ? "/some/where" : ""
    let address = try S3Address(url: server.url(bucket) + prefix)
    try await withHTTP { client in
      try await body(
        MediaStage(
          store: S3Store(address, client: client), files: files,
          addForeign: { name in
            for place in [prefix, "/"] {
              _ = try await client.send(server.request(.put, "/\(bucket)\(place)/\(name)"), body: Array("foreign".utf8))
            }
          },
          bytes: { source in
            guard case .redirect(let url) = source, let parts = URLComponents(string: url) else { return nil }
            var request = server.request(.get, "\(parts.percentEncodedPath)?\(parts.percentEncodedQuery ?? "")")
            request.authority = "\(parts.host ?? ""):\(parts.port ?? 80)"
            let (response, bytes) = try await client.send(request)
            if response.status == .notFound { return nil }
            #expect(response.status == .ok)
            #expect(response.headerFields[.cacheControl] == "private, max-age=900, immutable")
            return bytes
          }))
    }
  }

  /// A file with these bytes.
  func file(_ bytes: [UInt8]) throws -> String {
    let path = files.appending(path: UUID().uuidString)
    try Data(bytes).write(to: path)
    return path.path
  }

  func put(_ bytes: [UInt8], at key: MediaKey, contentType: String = "image/webp") async throws {
    try await store.put(file(bytes), at: key, contentType: contentType)
  }

  /// - Returns: nil for a missing object.
  func fetch(_ key: MediaKey) async throws -> [UInt8]? {
    let path = files.appending(path: UUID().uuidString)
    do {
      try await store.fetch(key, to: path.path)
    } catch let error as MediaStoreError where error.code == .missing {
      #expect(error.message.contains("\(key)") && !FileManager.default.fileExists(atPath: path.path))
      return nil
    }
    return [UInt8](try Data(contentsOf: path))
  }

  /// All objects, read in pages.
  func objects() async throws -> [StoredObject] {
    var all: [StoredObject] = []
    while true {
      let page = try await store.objects(after: all.last?.key)
      #expect(page.count <= 1000)
      if page.isEmpty { return all }
      all += page
    }
  }

  static func key(_ number: Int, _ name: MediaKey.Name = .original) throws -> MediaKey {
    // Spread far apart, in no sequential order.
    let digits = String(UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15, radix: 16)
    let file = String(repeating: "0", count: 16 - digits.count) + digits + "0123456789abcdef"
    return try #require(MediaKey(file: file, name: name))
  }

  static func random(_ count: Int) -> [UInt8] {
    // Eight at a time: a debug build takes seconds for megabytes otherwise.
    let words = (0..<(count + 7) / 8).map { _ in UInt64.random(in: 0...(.max)) }
    return words.withUnsafeBytes { Array($0.prefix(count)) }
  }
}

/// The store error that `body` throws.
func storeError(_ body: () async throws -> Void) async -> MediaStoreError? {
  do {
    try await body()
    Issue.record("nothing was thrown")
    return nil
  } catch let error as MediaStoreError {
    return error
  } catch {
    Issue.record("\(error)")
    return nil
  }
}
