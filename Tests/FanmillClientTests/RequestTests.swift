import Foundation
import Testing

@testable import FanmillClient

@Suite struct RequestTests {
  @Test func pathsAndQueriesAreEncoded() async throws {
    let scene = Scene([.json(#"{"items":[],"next":null}"#), .json(#"{"items":[],"more":false}"#)])
    _ = try await scene.client.users.followers(of: "a+b/ü", limit: 5).page()
    _ = try await scene.client.channels.search("@a b+c&d")
    let urls = scene.transport.requests.map(\.url.absoluteString)
    #expect(urls[0] == "https://api.example.org/app/v1/users/a%2Bb%2F%C3%BC/followers?limit=5")
    #expect(urls[1] == "https://api.example.org/app/v1/celebs/search?platform=youtube&q=%40a%20b%2Bc%26d")
  }

  @Test func aSessionIsSent() async throws {
    let scene = Scene([.json(#"{"token":"n3w"}"#, status: 201), .status(204)], session: nil)
    let client = try await scene.client.signIn(email: "ann@example.org", password: "a password")
    #expect(scene.client.session == nil && client.session == Session(token: "n3w"))
    #expect(try await client.signOut().session == nil)
    let requests = scene.transport.requests
    #expect(requests[0].headers["Authorization"] == nil)
    #expect(requests[1].headers["Authorization"] == "Bearer n3w" && requests[1].method == "DELETE")
    #expect(requests[0].body == Data(#"{"email":"ann@example.org","password":"a password"}"#.utf8))
  }

  /// The server refuses a session that has ended on every route.
  @Test func whatNeedsNoSessionIsAskedForWithoutIt() async throws {
    let steps = [ScriptedTransport.Step.json(#"{"token":"n3w"}"#, status: 201), .status(204)]
    let scene = Scene(steps, session: Session(token: "ended"))
    let client = try await scene.client.signIn(email: "ann@example.org", password: "a password")
    try await scene.client.accounts.resetPassword(token: "t", to: "another password")
    #expect(client.session == Session(token: "n3w"))
    #expect(scene.transport.requests.map { $0.headers["Authorization"] } == [nil, nil])
  }

  @Test func aCallIsRepeatedWithItsKey() async throws {
    let message = #"{"id":1,"own":true,"text":"a","createdAt":"2026-11-29T00:00:00Z"}"#
    let scene = Scene([.problem(500, "a_lost_answer"), .json(message, status: 201), .json(message, status: 201)])
    let key = UUID()
    await #expect(throws: FanmillError.self) {
      try await scene.client.conversations.send("a", to: "bob", key: key)
    }
    try await scene.client.conversations.send("a", to: "bob", key: key)
    try await scene.client.conversations.send("a", to: "bob")
    let keys = scene.transport.requests.map { $0.headers["Idempotency-Key"] }
    #expect(keys[0] == key.uuidString.lowercased() && keys[1] == keys[0])
    #expect(keys[2] != keys[0])
  }

  @Test func keysOfOtherKindsAreIgnored() async throws {
    let x = Base64URL.text(Data(count: 32))
    let keys = #"""
      {"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},{"kty":"EC","crv":"P-256","kid":"e","x":"AA","y":"AA"},
      {"kty":"OKP","crv":"Ed25519","kid":"k","x":"\#(x)"}]}
      """#
    let scene = Scene([.json(keys)])
    #expect(try await scene.client.certificates.keys() == [SigningKey(id: "k", bytes: Data(count: 32))])
  }

  /// A proxy may serve the server under a path that the server does not know.
  @Test func theServersOwnPathsBeginAtItsRoot() async throws {
    let scene = Scene([.problem(308, "moved", headers: ["location": "/v1/users/new/follow"]), .status(204)])
    #expect(scene.client.media.url("/media/x/thumb")?.absoluteString == "https://api.example.org/app/media/x/thumb")
    #expect(scene.client.media.url("https://other.example.org/x")?.host == "other.example.org")
    try await scene.client.users.follow("old")
    #expect(scene.transport.requests[1].url.absoluteString == "https://api.example.org/app/v1/users/new/follow")
  }

  @Test func noDescriptionHasASecret() async throws {
    let scene = Scene([.status(200)], session: Session(token: "s3cret"))
    try? await scene.client.me.changePassword(from: "s3cret", to: "s3cret-2")
    let session = Session(token: "s3cret")
    let token = try JSONDecoder().decode(UploadToken.self, from: Data(#"{"token":"s3cret","expiresIn":9}"#.utf8))
    let opened = try APICoding.decoder.decode(
      OpenedAccount.self, from: Data(#"{"id":1,"username":"ann","isConfirmed":true,"token":"s3cret"}"#.utf8))
    let registration = Registration(email: "ann@example.org", password: "s3cret", name: "Ann")
    let request = try #require(scene.transport.requests.first)
    var reset = request
    reset.url = try #require(URL(string: "https://api.example.org/v1/password-resets/s3cret"))
    var export = request
    export.url = try #require(URL(string: "https://api.example.org/v1/account-exports/s3cret"))
    let values: [Any] = [
      session, scene.client, token, opened, registration, request, reset, export, scene.client.posts,
    ]
    for value in values {
      var dumped = ""
      dump(value, to: &dumped)
      for text in [String(describing: value), String(reflecting: value), dumped, "\(value)"] {
        #expect(!text.contains("s3cret"), "\(type(of: value))")
      }
    }
    // The stored form has it.
    #expect(String(decoding: try JSONEncoder().encode(session), as: UTF8.self).contains("s3cret"))
  }

  @Test func anErrorHasWhatTheServerSays() async throws {
    let scene = Scene([
      .problem(422, "invalid_title", field: "title", headers: ["traceparent": "00-aabbcc-dd-01"]),
      .json("{}"), .problem(418, "a_new_code"), .status(500),
    ])
    let refused = await #expect(throws: FanmillError.self) {
      _ = try await scene.client.posts.create(PostDraft(title: ""))
    }
    #expect(refused?.code == .invalid("title") && refused?.code.isInvalidField == true)
    #expect(refused?.field == "title" && refused?.status == 422 && refused?.requestID == "aabbcc")
    #expect(refused?.message == "why" && refused?.localizedDescription == "why")
    let malformed = await #expect(throws: FanmillError.self) { _ = try await scene.client.posts.post(1) }
    #expect(malformed?.code == .malformedResponse && malformed?.underlying is DecodingError)
    let new = await #expect(throws: FanmillError.self) { _ = try await scene.client.posts.post(1) }
    #expect(new?.code == FanmillError.Code(rawValue: "a_new_code"))
    let bare = await #expect(throws: FanmillError.self) { _ = try await scene.client.posts.post(1) }
    #expect(bare?.code.rawValue == "http_500")
  }

  @Test func aRenamedAccountIsFollowedOnThisServerAlone() async throws {
    let scene = Scene([
      .problem(308, "moved", headers: ["location": "/app/v1/users/new/follow"]), .status(204),
      .problem(308, "moved", headers: ["location": "https://evil.example.org/v1/users/new/follow"]),
    ])
    try await scene.client.users.follow("old")
    #expect(scene.transport.requests[1].url.path == "/app/v1/users/new/follow")
    #expect(scene.transport.requests[1].method == "PUT")
    let error = await #expect(throws: FanmillError.self) { try await scene.client.users.follow("old") }
    #expect(error?.code == .moved)
    #expect(scene.transport.requests.count == 3)
  }

  @Test func aPictureIsFetchedWithoutTheSession() async throws {
    let scene = Scene([
      .status(202, headers: ["retry-after": "1"]),
      .status(302, headers: ["location": "https://bucket.example.org/x?s=1"]),
      .response(TransportResponse(status: 200, body: Data([1, 2]))),
    ])
    #expect(try await scene.client.media.bytes(of: "/media/x/thumb") == Data([1, 2]))
    #expect(scene.transport.requests.map(\.url.absoluteString).last == "https://bucket.example.org/x?s=1")
    #expect(scene.transport.requests.allSatisfy { $0.headers["Authorization"] == nil })
    #expect(scene.clock.sleeps == [.seconds(1)])
  }

  @Test func anExportIsFetchedWithoutTheSession() async throws {
    let scene = Scene([
      .status(302, headers: ["location": "https://bucket.example.org/x?s=1"]),
      .response(TransportResponse(status: 200, body: Data([0x50, 0x4B]))), .problem(404, "not_found"),
    ])
    #expect(try await scene.client.accounts.export(token: "s3cret") == Data([0x50, 0x4B]))
    let requests = scene.transport.requests
    #expect(requests[0].url.absoluteString == "https://api.example.org/app/v1/account-exports/s3cret")
    #expect(requests[1].url.absoluteString == "https://bucket.example.org/x?s=1")
    #expect(requests.allSatisfy { $0.method == "GET" && $0.headers["Authorization"] == nil })
    let error = await #expect(throws: FanmillError.self) {
      _ = try await scene.client.accounts.export(token: "s3cret")
    }
    #expect(error?.code == .notFound)
  }

  @Test func anUploadReportsItsProgress() async throws {
    let upload = #"""
      {"id":"p","state":"waiting","url":"/media/p/feed","width":4,"height":2,"sizes":{
      "thumb":{"url":"t","width":4,"height":2},"feed":{"url":"f","width":4,"height":2},
      "full":{"url":"u","width":4,"height":2}}}
      """#
    let scene = Scene([.json(upload, status: 201)])
    let file = URL(filePath: NSTemporaryDirectory()).appending(path: "upload-\(UUID().uuidString)")
    try Data(count: 1000).write(to: file)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: file) } }
    let noted = Noted<UploadProgress>()
    let sent = try await scene.client.media.upload(file) { noted.note($0) }
    #expect(sent.id == "p" && sent.state == .waiting)
    #expect(noted.values.map(\.fraction) == [0.5, 1])
    let request = try #require(scene.transport.requests.first)
    #expect(request.headers["Idempotency-Key"] != nil && request.body?.count == 1000)
  }
}
