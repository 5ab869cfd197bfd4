import FanmillClient
import Foundation
import Synchronization

/// Photo sharing: pictures, a feed, an open thread.
enum PhotosApp {
  static func walk(_ walk: Walk) async throws {
    let ann = try await signUp(walk)
    let bob = try await walk.signUp("bob", "Bob")
    try await bob.client.users.follow(ann.username)
    let post = try await share(walk, ann)
    try await feed(walk, bob, post)
    try await thread(walk, ann, bob, post)
    try await edit(walk, ann, bob, post)
  }

  private static func signUp(_ walk: Walk) async throws -> Person {
    walk.screen("Sign up with a picture")
    let username = walk.name("ann")
    let token = try await walk.client.media.issueToken()
    let picture = try await walk.client.media.upload(Drawing.png(width: 400, height: 400, seed: 1), with: token)
    let client = try await walk.client.signUp(
      Registration(
        username: username, email: "\(username)@example.org", password: Walk.password, name: "Ann", avatar: picture.id))
    let profile = try await client.me.profile()
    walk.show("@\(profile.username)  \(profile.avatar ?? "no picture")")
    guard let avatar = profile.avatar else {
      walk.differs("the account has no picture")
      return Person(client: client, username: username, name: "Ann")
    }
    walk.expect("a JPEG", try await client.media.bytes(of: avatar).starts(with: [0xFF, 0xD8]))
    return Person(client: client, username: username, name: "Ann")
  }

  private static func share(_ walk: Walk, _ ann: Person) async throws -> Post {
    walk.screen("New post")
    var ids: [Upload.ID] = []
    for number in 1...3 {
      let file = URL(filePath: NSTemporaryDirectory()).appending(path: "photo-\(walk.suffix)-\(number).png")
      try Drawing.png(width: 1400, height: 900 + number, seed: UInt64(number)).write(to: file)
      let last = Mutex(UploadProgress(sent: 0, total: 1))
      let upload = try await ann.client.media.upload(file) { progress in last.withLock { $0 = progress } }
      try FileManager.default.removeItem(at: file)
      let progress = last.withLock(\.self)
      let bar = Int((progress.fraction * 20).rounded())
      walk.show("photo \(number)  [\(String(repeating: "█", count: bar))]  \(progress.sent / 1000) kB")
      walk.expect("the progress", progress.fraction, 1)
      walk.expect("the size", [upload.width, upload.height], [1400, 900 + number])
      ids.append(upload.id)
    }
    for id in ids { walk.expect("the state", try await ann.client.media.finished(id).state, .ready) }
    let post = try await ann.client.posts.create(
      PostDraft(title: "Three walls", description: "Before noon", media: ids))
    walk.expect("the order", post.media.map(\.id), ids)
    await walk.expectRefusal(.unsupportedMedia) { _ = try await ann.client.media.upload(Data("a note".utf8)) }
    return post
  }

  private static func feed(_ walk: Walk, _ bob: Person, _ post: Post) async throws {
    walk.screen("Bob's feed")
    let shown = try await walk.eventually("the post in the feed") {
      try await bob.client.feed.following().page().items.first { $0.id == post.id }
    }
    walk.show("\(shown.author.name): \(shown.title)  ♥ \(shown.likes)  💬 \(shown.comments)")
    for picture in shown.media {
      let (thumb, full) = (picture.sizes.thumb, picture.sizes.full)
      let bytes = try await bob.client.media.bytes(of: thumb.url, acceptsWebP: true)
      walk.show("▣ \(thumb.width)×\(thumb.height), \(bytes.count) bytes; full \(full.width)×\(full.height)")
      walk.expect("the longer side of a thumb", max(thumb.width, thumb.height), 320)
      walk.expect("full is not enlarged", full.width, 1400)
      walk.expect("a WebP", bytes.starts(with: Array("RIFF".utf8)))
    }
    walk.expect("the pictures", shown.media.count, 3)
    walk.expect("whose", shown.isMine, false)
    walk.expect("the public feed", try await bob.client.feed.home(limit: 50).page().items.map(\.id).contains(post.id))
  }

  private static func thread(_ walk: Walk, _ ann: Person, _ bob: Person, _ post: Post) async throws {
    walk.screen("The open thread")
    var thread = try await Listener(ann, posts: [post.id])
    try await bob.client.likes.add(post.id)
    let counts = try await thread.first { kind -> StreamEvent.Counts? in
      if case .counts(let counts) = kind, counts.likes == 1 { counts } else { nil }
    }
    walk.show("♥ \(counts.likes)  💬 \(counts.comments)")
    let comment = try await bob.client.comments.create(on: post.id, text: "The second one!")
    let added = try await thread.first { kind -> PostComment? in
      if case .comment(let said) = kind { said.comment } else { nil }
    }
    walk.show("\(added.author.name): \(added.text)")
    walk.expect("the comment", added, comment)
    try await bob.client.comments.delete(comment.id, on: post.id)
    let removed = try await thread.first { kind -> Int? in
      if case .commentRemoved(let removed) = kind { removed.id } else { nil }
    }
    walk.expect("the removed comment", removed, comment.id)
    walk.expect("Bob's likes", try await bob.client.likes.list().page().items.map(\.id), [post.id])
  }

  private static func edit(_ walk: Walk, _ ann: Person, _ bob: Person, _ post: Post) async throws {
    walk.screen("Ann edits, and deletes")
    let edited = try await ann.client.posts.edit(
      post.id, PostChanges(title: "Two walls", media: post.media.prefix(2).map(\.id)))
    walk.show("\(edited.title), edited  ▣ ▣")
    walk.expect("the pictures", edited.media.count, 2)
    walk.expect("edited", edited.editedAt != nil)
    await walk.expectRefusal(.notYours) { try await bob.client.posts.delete(post.id) }
    try await ann.client.media.delete(post.media[2].id)
    await walk.expectRefusal(.mediaInUse) { try await ann.client.media.delete(post.media[0].id) }
    try await ann.client.posts.delete(post.id)
    _ = try await walk.eventually("the post leaves the feed") {
      try await bob.client.feed.following().page().items.contains { $0.id == post.id } ? nil : true
    }
    await walk.expectRefusal(.notFound) { _ = try await bob.client.posts.post(post.id) }
  }
}
