import Foundation

@testable import FanmillClient
@testable import SocialAPI

extension ClientCall {
  static let posts: [ClientCall] = [
    .returning(.createPost) {
      try await $0.posts.create(PostDraft(title: "Dawn", description: "Over the river.", media: [Sample.picture]))
    },
    .returning(.searchPosts) { try await $0.posts.search("Dawn", limit: 5).page(after: Sample.cursor) },
    .returning(.readPost) { try await $0.posts.post(42) },
    .returning(.editPost) {
      try await $0.posts.edit(42, PostChanges(title: "Sunrise", description: "", media: [Sample.picture]))
    },
    .returning(.editPost) { try await $0.posts.edit(42, PostChanges(title: "Sunrise")) },
    .sending(.deletePost) { try await $0.posts.delete(42) },
    .returning(.readFanOut) { try await $0.posts.fanOut(of: 42) },
    .returning(.readHomeFeed) { try await $0.feed.home(limit: 5).page(after: Sample.cursor) },
    .returning(.readFollowingFeed) {
      try await $0.feed.following(includesOwn: true, limit: 5).page(after: Sample.cursor)
    },
    .sending(.like) { try await $0.likes.add(42) },
    .sending(.unlike) { try await $0.likes.remove(42) },
    .returning(.listLikes) { try await $0.likes.list(limit: 5).page(after: Sample.cursor) },
    .returning(.createComment) { try await $0.comments.create(on: 42, text: "What a light!") },
    .returning(.listComments) {
      try await $0.comments.list(on: 42, order: .oldest, limit: 5).page(after: Sample.cursor)
    },
    .returning(.listComments) { try await $0.comments.list(on: 42).page() },
    .sending(.deleteComment) { try await $0.comments.delete(43, on: 42) },
  ]

  static let news: [ClientCall] = [
    .returning(.listNotifications) {
      try await $0.notifications.list(isGrouped: false, limit: 5).page(after: Sample.cursor)
    },
    .returning(.countUnread) { try await $0.notifications.unread() },
    .returning(.checkNotifications) { try await $0.notifications.check(upTo: 42) },
    .returning(.checkNotifications) { try await $0.notifications.check([42, 43]) },
    .returning(.listConversations) { try await $0.conversations.list(limit: 5).page(after: Sample.cursor) },
    .returning(.countUnreadMessages) { ["unread": try await $0.conversations.unread()] },
    .returning(.listMessages) {
      try await $0.conversations.messages(with: "~42", limit: 5).page(after: Sample.cursor)
    },
    .returning(.sendMessage) { try await $0.conversations.send("Hello!", to: "bob") },
    .returning(.readConversation) { ["unread": try await $0.conversations.read(upTo: 42, with: "bob")] },
    .sending(.listen) {
      var events = $0.events.stream(posts: [42, 43], after: "7-3-120-2-1").makeAsyncIterator()
      _ = try await events.next()
    },
  ]

  static let pictures: [ClientCall] = [
    // Any file will do.
    .returning(.uploadPicture) { try await $0.media.upload(URL(filePath: #filePath)) },
    .returning(.uploadPicture) {
      try await $0.media.upload(Data([1]), with: UploadToken(token: Sample.token, expiresIn: 900))
    },
    .returning(.issueUploadToken) { try await $0.media.issueToken() },
    .returning(.readUpload) { try await $0.media.upload(Sample.picture) },
    .sending(.deleteUpload) { try await $0.media.delete(Sample.picture) },
    .sending(.showPicture) { _ = try await $0.media.bytes(of: "/media/\(Sample.picture)/thumb", acceptsWebP: true) },
  ]
}
