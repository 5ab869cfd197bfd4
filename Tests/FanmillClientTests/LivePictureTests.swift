import Foundation
import Testing

@testable import FanmillClient

/// Uploads and pictures, against the stack at `FANMILL_TEST_URL`.
@Suite(.enabled(if: LiveStack.url != nil), .timeLimit(.minutes(5))) struct LivePictureTests {
  @Test func picturesFromAFile() async throws {
    let (ann, _) = try await LiveStack.account("ann")
    let file = URL(filePath: NSTemporaryDirectory()).appending(path: "picture-\(UUID().uuidString).png")
    try TestPicture.png(width: 1500, height: 1200, seed: UInt64.random(in: .min ... .max)).write(to: file)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: file) } }
    let noted = Noted<UploadProgress>()
    let upload = try await ann.media.upload(file) { noted.note($0) }
    #expect(upload.width == 1500 && upload.height == 1200)
    let progress = noted.values
    #expect(progress.count > 1 && progress.last?.fraction == 1, "\(progress.count)")
    #expect(progress.map(\.sent) == progress.map(\.sent).sorted())
    let ready = try await ann.media.finished(upload.id)
    #expect(ready.state == .ready && ready.sizes.thumb.width == 320)
    let post = try await ann.posts.create(PostDraft(title: "Noise", media: [upload.id]))
    #expect(post.media.map(\.id) == [upload.id] && post.image == post.media.first?.url)
    let jpeg = try await ann.media.bytes(of: post.media[0].sizes.thumb.url)
    #expect(jpeg.prefix(2) == Data([0xFF, 0xD8]))
    let webP = try await ann.media.bytes(of: post.media[0].sizes.feed.url, acceptsWebP: true)
    #expect(webP.prefix(4) == Data("RIFF".utf8))
    let used = await #expect(throws: FanmillError.self) { try await ann.media.delete(upload.id) }
    #expect(used?.code == .mediaInUse)
    try await ann.posts.edit(post.id, PostChanges(media: []))
    try await ann.media.delete(upload.id)
    let text = await #expect(throws: FanmillError.self) { _ = try await ann.media.upload(Data("no picture".utf8)) }
    #expect(text?.code == .unsupportedMedia)
    let large = await #expect(throws: FanmillError.self) { _ = try await ann.media.upload(Data(count: 11_000_000)) }
    #expect(large?.code == .bodyTooLarge)
  }

  @Test func filesThatCannotBeSent() async throws {
    let (ann, _) = try await LiveStack.account("ann")
    let file = URL(filePath: NSTemporaryDirectory()).appending(path: "large-\(UUID().uuidString)")
    let absent = await #expect(throws: FanmillError.self) { _ = try await ann.media.upload(file) }
    #expect(absent?.code == .unreadableFile && absent?.status == nil)
    try Data(count: 11_000_000).write(to: file)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: file) } }
    let large = await #expect(throws: FanmillError.self) { _ = try await ann.media.upload(file) }
    #expect(large?.code == .bodyTooLarge)
    let unsigned = await #expect(throws: FanmillError.self) {
      _ = try await LiveStack.client().media.upload(file)
    }
    #expect(unsigned?.code == .notSignedIn)
  }

  @Test func aPictureBeforeTheAccount() async throws {
    let client = try LiveStack.client()
    let token = try await client.media.issueToken()
    let upload = try await client.media.upload(TestPicture.png(width: 30, height: 30, seed: 3), with: token)
    let used = await #expect(throws: FanmillError.self) {
      _ = try await client.media.upload(TestPicture.png(width: 30, height: 30, seed: 4), with: token)
    }
    #expect(used?.code == .uploadExpired)
    let name = LiveStack.name("pic")
    let ann = try await client.signUp(
      Registration(
        username: name, email: "\(name)@example.org", password: LiveStack.password, name: "Ann", avatar: upload.id))
    let avatar = try #require(try await ann.me.profile().avatar)
    #expect(try await client.media.bytes(of: avatar).prefix(2) == Data([0xFF, 0xD8]))
  }
}
