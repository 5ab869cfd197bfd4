import CurlClient
import Foundation
import HTTPTypes
import Locking
import TestSupport
import Testing

@testable import Social

/// The replies and failures of a bucket.
@Suite(.timeLimit(.minutes(5)))
struct S3StoreTests {
  private static let key = "0123456789abcdef0123456789abcdef/original"

  private func withStore(
    _ url: String, now: @escaping @Sendable () -> Date = { Date() }, limit: Int = 1 << 30,
    _ body: (S3Store) async throws -> Void
  ) async throws {
    let address = try S3Address(url: url)
    try await withHTTP { try await body(S3Store(address, client: $0, limit: limit, now: now)) }
  }

  private func withFile(_ text: String, _ body: (String) async throws -> Void) async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "fanmill-\(UUID())").path
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body(path)) } catch { outcome = .failure(error) }
    try FileManager.default.removeItem(atPath: path)
    try outcome.get()
  }

  /// Every method's error from a store scripted by `script`; none of them contains a secret.
  private func errors(
    _ query: String = "", _ script: @escaping @Sendable (ScriptedConnection) -> Void
  ) async throws -> [MediaStoreError] {
    let server = try ScriptedServer(script)
    defer { server.stop() }
    let found = Locked<[MediaStoreError]>([])
    try await withStore("s3+http://the-key:the-secret@127.0.0.1:\(server.port)/abc\(query)") { store in
      try await withFile("text") { path in
        let key = try #require(MediaKey(Self.key))
        for call: () async throws -> Void in [
          { try await store.put(path, at: key, contentType: "image/webp") },
          { try await store.fetch(key, to: path + ".fetched") },
          { try await store.remove([key]) },
          { _ = try await store.objects(after: nil) },
          { try await store.check() },
        ] {
          if let error = await storeError(call) { found.withLock { $0.append(error) } }
        }
        #expect(!FileManager.default.fileExists(atPath: path + ".fetched"))
      }
    }
    let errors = found.withLock { $0 }
    for error in errors {
      for text in ["\(error)", String(reflecting: error)] {
        #expect(!text.contains("the-secret") && !text.contains("the-key") && !text.contains("Signature="), "\(text)")
        #expect(!text.contains("SIGNED") && !text.contains("?"))
      }
    }
    return errors
  }

  private static func answer(_ status: Int, _ code: String?, more: String = "", fields: String = "") -> String {
    let body =
      code.map { "<?xml version=\"1.0\"?><Error><Code>\($0)</Code><Message>SIGNED</Message>\(more)</Error>" } ?? ""
    return "HTTP/1.1 \(status) Whatever\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  @Test(
    arguments: [
      (404, "NoSuchBucket", "create it"), (403, "AccessDenied", "grant it s3:"),
      (403, "SignatureDoesNotMatch", "the secret in FANMILL_MEDIA_URL"),
      (403, "InvalidAccessKeyId", "the access key in FANMILL_MEDIA_URL"), (403, "RequestTimeTooSkewed", "clocks"),
      (403, nil, "grant it s3:"), (409, "Odd", "check FANMILL_MEDIA_URL"), (405, nil, "check FANMILL_MEDIA_URL"),
    ] as [(Int, String?, String)])
  func aRefusalSaysWhatToDo(_ status: Int, _ code: String?, _ advice: String) async throws {
    let text = Self.answer(status, code)
    let errors = try await errors { connection in
      while connection.readRequest() != nil { connection.write(text) }
    }
    #expect(errors.count == 5)
    for error in errors {
      #expect(error.code == .refused && error.reason == code && error.message.contains(advice), "\(error)")
      #expect(error.message.contains("s3+http://127.0.0.1:") && error.message.contains("/abc"))
    }
  }

  @Test(arguments: [(507, nil), (403, "QuotaExceeded"), (507, "XMinioStorageFull")] as [(Int, String?)])
  func aFullStoreIsNamed(_ status: Int, _ code: String?) async throws {
    let text = Self.answer(status, code)
    let errors = try await errors { connection in
      while connection.readRequest() != nil { connection.write(text) }
    }
    #expect(errors.allSatisfy { $0.code == .diskFull && $0.message.contains("the store is full") }, "\(errors)")
  }

  @Test func aBucketOfAnotherRegionIsNamedAndNotFollowed() async throws {
    let elsewhere = try ScriptedServer { connection in while connection.readRequest() != nil { connection.answer("") } }
    defer { elsewhere.stop() }
    let location = "Location: http://127.0.0.1:\(elsewhere.port)/\r\n"
    for text in [
      Self.answer(301, "PermanentRedirect", fields: "x-amz-bucket-region: eu-west-1\r\n" + location),
      Self.answer(307, "TemporaryRedirect", fields: "x-amz-bucket-region: eu-west-1\r\n" + location),
      Self.answer(301, nil, fields: "x-amz-bucket-region: eu-west-1\r\n"),
      Self.answer(400, "AuthorizationHeaderMalformed", more: "<Region>eu-west-1</Region>"),
    ] {
      let errors = try await errors { connection in
        while connection.readRequest() != nil { connection.write(text) }
      }
      #expect(errors.count == 5)
      for error in errors {
        #expect(error.code == .refused && error.message.contains("write region=eu-west-1"), "\(error)")
      }
    }
    let unnamed = try await errors { connection in
      while connection.readRequest() != nil { connection.write(Self.answer(301, nil, fields: location)) }
    }
    #expect(unnamed.allSatisfy { $0.code == .refused && $0.message.contains("elsewhere") })
    #expect(elsewhere.accepted == 0)
  }

  /// External text neither breaks a line nor makes it long.
  @Test(arguments: ["a b", "a\nb", String(repeating: "a", count: 65), "<b/>", ""])
  func anOddCodeIsNotShown(_ code: String) async throws {
    let errors = try await errors { connection in
      while connection.readRequest() != nil { connection.write(Self.answer(418, code, more: "<Region>a b</Region>")) }
    }
    #expect(errors.allSatisfy { $0.reason == nil && $0.message.hasSuffix("(status 418)") }, "\(errors)")
  }

  @Test(arguments: [503, 500, 502, 504, 429])
  func aBusyStoreIsTriedAgain(_ status: Int) async throws {
    let requests = Locked<[String]>([])
    let server = try ScriptedServer { connection in
      while let request = connection.readRequest() {
        let count = requests.withLock { requests in
          requests.append(request)
          return requests.count
        }
        connection.write(count < 3 ? Self.answer(status, "SlowDown") : Self.answer(200, nil))
      }
    }
    defer { server.stop() }
    try await withStore("s3+http://k:s@127.0.0.1:\(server.port)/abc/pre") { store in
      try await withFile("the body") { path in
        try await store.put(path, at: try #require(MediaKey(Self.key)), contentType: "image/webp")
      }
    }
    let seen = requests.withLock { $0 }
    #expect(seen.count == 3)
    for request in seen {
      #expect(request.hasPrefix("PUT /abc/pre/\(Self.key) HTTP/1.1\r\n") && request.hasSuffix("\r\n\r\nthe body"))
      #expect(request.contains("\r\nContent-Type: image/webp\r\n") && request.contains("\r\nContent-Length: 8\r\n"))
    }
  }

  @Test func aStoreThatStaysBusyIsUnreachable() async throws {
    let requests = Locked(0)
    let errors = try await errors { connection in
      while connection.readRequest() != nil {
        requests.withLock { $0 += 1 }
        connection.write(Self.answer(503, "SlowDown"))
      }
    }
    #expect(errors.count == 5 && errors.allSatisfy { $0.code == .unreachable && $0.reason == "SlowDown" }, "\(errors)")
    #expect(requests.withLock { $0 } == 20)
  }

  @Test func aStoreThatDiesInTheMiddleIsTriedAgainAndThenUnreachable() async throws {
    let errors = try await errors { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123")
      connection.reset()
    }
    #expect(errors.count == 5 && errors.allSatisfy { $0.code == .unreachable }, "\(errors)")
    let server = try ScriptedServer.answering("")
    server.stop()
    try await withStore("s3+http://k:s@127.0.0.1:\(server.port)/abc") { store in
      let error = await storeError { try await store.check() }
      #expect(error?.code == .unreachable && error?.message.contains("FANMILL_MEDIA_URL") == true)
    }
  }

  @Test func aBodyThatIsCutOffIsFetchedAgain() async throws {
    let count = Locked(0)
    let server = try ScriptedServer { connection in
      while connection.readRequest() != nil {
        let number = count.withLock { count in
          count += 1
          return count
        }
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + (number < 3 ? "12345" : "0123456789"))
        if number < 3 { return }
      }
    }
    defer { server.stop() }
    try await withStore("s3+http://k:s@127.0.0.1:\(server.port)/abc") { store in
      try await withFile("old") { path in
        try await store.fetch(try #require(MediaKey(Self.key)), to: path)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "0123456789")
      }
    }
    #expect(count.withLock { $0 } == 3)
  }

  @Test func anObjectThatIsTooLargeIsNotFetched() async throws {
    let server = try ScriptedServer { connection in while connection.readRequest() != nil { connection.answer("12345") }
    }
    defer { server.stop() }
    try await withStore("s3+http://k:s@127.0.0.1:\(server.port)/abc", limit: 4) { store in
      try await withFile("old") { path in
        let error = await storeError { try await store.fetch(try #require(MediaKey(Self.key)), to: path) }
        #expect(error?.code == .tooLarge)
        let left = try String(contentsOfFile: path, encoding: .utf8)
        #expect(left == "old")
      }
    }
  }

  @Test func whatIsNoListingIsMalformed() async throws {
    let server = try ScriptedServer { connection in
      while connection.readRequest() != nil { connection.answer("<html>Welcome</html>") }
    }
    defer { server.stop() }
    try await withStore("s3+http://k:s@127.0.0.1:\(server.port)/abc") { store in
      #expect(await storeError { _ = try await store.objects(after: nil) }?.code == .malformed)
      #expect(await storeError { try await store.check() }?.code == .malformed)
    }
  }

  /// A page with only foreign objects is not the end.
  @Test func aListingGoesOnPastPagesWithoutPictures() async throws {
    let server = try ScriptedServer { connection in
      while let request = connection.readRequest() {
        let isFirst = !request.contains("continuation-token=a%2Fb%3D")
        let entry =
          "<Contents><Key>pre/\(isFirst ? "README" : Self.key)</Key><LastModified>2013-05-24T00:00:00Z</LastModified>"
          + "<Size>7</Size></Contents>"
        let more = isFirst ? "<NextContinuationToken>a/b=</NextContinuationToken>" : ""
        connection.answer(
          "<ListBucketResult>\(entry)<IsTruncated>\(isFirst)</IsTruncated>\(more)</ListBucketResult>")
      }
    }
    defer { server.stop() }
    try await withStore("s3+http://k:s@127.0.0.1:\(server.port)/abc/pre") { store in
      let objects = try await store.objects(after: nil)
      #expect(objects.map(\.key.description) == [Self.key])
    }
    #expect(server.requests == 2)
  }

  // MARK: Signatures

  @Test func aStoreThatChecksSignaturesTakesTheRightOnesOnly() async throws {
    let server = try await MotoServer.start()
    let bucket = try await server.makeBucket()
    let credentials = try await server.requireSignatures(allowing: ["s3:*"])
    let key = try #require(MediaKey(Self.key))
    try await withFile("the body") { path in
      try await withStore(server.url("\(bucket)/some/where", credentials: credentials)) { store in
        try await store.check()
        try await store.put(path, at: key, contentType: "image/webp")
        #expect(try await store.objects(after: nil).map(\.key) == [key])
        #expect(try await store.objects(after: key).isEmpty)
        try await store.fetch(key, to: path + ".fetched")
        #expect(try String(contentsOfFile: path + ".fetched", encoding: .utf8) == "the body")
        try FileManager.default.removeItem(atPath: path + ".fetched")
        try await store.remove([key])
        #expect(await storeError { try await store.fetch(key, to: path + ".fetched") }?.code == .missing)
      }
      try await withStore(server.url("no-such-bucket", credentials: credentials)) { store in
        let error = await storeError { try await store.check() }
        #expect(error?.code == .refused && error?.reason == "NoSuchBucket", "\(String(describing: error))")
        #expect(await storeError { try await store.fetch(key, to: path) }?.reason == "NoSuchBucket")
        #expect(await storeError { try await store.remove([key]) }?.reason == "NoSuchBucket")
      }
      let accessKey = credentials.prefix { $0 != ":" }
      for (wrong, reason) in [("\(accessKey):wrong", "SignatureDoesNotMatch"), ("wrong:wrong", "InvalidAccessKeyId")] {
        try await withStore(server.url(bucket, credentials: wrong)) { store in
          let error = await storeError { try await store.put(path, at: key, contentType: "image/webp") }
          #expect(error?.code == .refused && error?.reason == reason, "\(String(describing: error))")
          #expect(error?.message.contains("wrong") == false)
        }
      }
    }
    await server.stop()
  }

  @Test func aKeyThatMayNotReadIsToldSo() async throws {
    let server = try await MotoServer.start()
    let bucket = try await server.makeBucket()
    let credentials = try await server.requireSignatures(allowing: ["s3:PutObject", "s3:DeleteObject"])
    try await withStore(server.url(bucket, credentials: credentials)) { store in
      let error = await storeError { try await store.check() }
      #expect(error?.reason == "AccessDenied" && error?.message.contains("s3:GetObject") == true)
    }
    await server.stop()
  }

  // MARK: URLs

  @Test func aURLIsSignedForFifteenMinutesOfTheGivenClock() async throws {
    let date = Date(timeIntervalSince1970: 1_369_353_600)
    for (style, start) in [("path", "https://h.example/abc/pre/"), ("virtual", "https://abc.h.example/pre/")] {
      try await withStore("s3+https://k:s@h.example/abc/pre?style=\(style)&region=eu-west-1", now: { date }) { store in
        guard case .redirect(let url) = try await store.source(of: try #require(MediaKey(Self.key))) else {
          Issue.record("no redirect")
          return
        }
        #expect(url.hasPrefix("\(start)\(Self.key)?"))
        for part in [
          "X-Amz-Date=20130524T000000Z", "X-Amz-Expires=900",
          "X-Amz-Credential=k%2F20130524%2Feu-west-1%2Fs3%2Faws4_request",
          "response-cache-control=private%2C%20max-age%3D900%2C%20immutable",
        ] {
          #expect(url.contains(part), "\(url)")
        }
      }
    }
  }
}
