#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Social

/// An account in a list or beside a post.
struct AccountView: JSONWritable, Sendable {
  let id: Int
  let username: String
  let name: String
  let major: String
  let avatar: Nullable<String>

  init(_ account: AccountSummary) {
    id = account.id
    username = account.username
    name = account.name
    major = account.major
    avatar = Nullable(account.avatar)
  }

  func write(to json: inout JSONBytes) {
    json.object { json in
      json.field("id", id)
      json.field("username", username)
      json.field("name", name)
      json.field("major", major)
      json.field("avatar", avatar.value)
    }
  }
}

/// An account in a list, as the viewer sees it.
struct ListedAccountView: JSONWritable, Sendable {
  let id: Int
  let username: String
  let name: String
  let major: String
  let avatar: Nullable<String>
  let isFollowed: Bool

  init(_ account: AccountSummary, isFollowed: Bool) {
    id = account.id
    username = account.username
    name = account.name
    major = account.major
    avatar = Nullable(account.avatar)
    self.isFollowed = isFollowed
  }

  func write(to json: inout JSONBytes) {
    json.object { json in
      json.field("id", id)
      json.field("username", username)
      json.field("name", name)
      json.field("major", major)
      json.field("avatar", avatar.value)
      json.field("isFollowed", isFollowed)
    }
  }
}

/// An account's profile.
struct ProfileView: Encodable, Sendable {
  let id: Int
  let username: String
  let name: String
  let major: String
  let bio: String
  let avatar: Nullable<String>
  let posts: Int
  let followers: Int
  let following: Int
  let isFollowed: Bool
  let isMuted: Bool
  /// Visible only to the owner.
  let email: String?
  /// Whether the owner has stated that they are an adult. Visible only to the owner.
  let adult: Bool?

  init(_ own: OwnAccount) { self.init(own.profile, email: own.email, adult: own.isAdult) }

  init(_ profile: Profile) { self.init(profile, email: nil, adult: nil) }

  private init(_ profile: Profile, email: String?, adult: Bool?) {
    id = profile.id
    username = profile.username
    name = profile.name
    major = profile.major
    bio = profile.bio
    avatar = Nullable(profile.avatar)
    posts = profile.posts
    followers = profile.followers
    following = profile.following
    isFollowed = profile.isFollowed
    isMuted = profile.isMuted
    self.email = email
    self.adult = adult
  }
}

struct PostView: JSONWritable, Sendable {
  let id: Int
  let author: AccountView
  let title: String
  let description: String
  let media: [PictureView]
  /// The first picture, for clients without `media` support.
  let image: Nullable<String>
  let createdAt: Date
  let editedAt: Nullable<Date>
  let likes: Int
  let comments: Int
  let isLiked: Bool
  let isMine: Bool

  init(_ post: Post) {
    id = post.id
    author = AccountView(post.author)
    title = post.title
    description = post.description
    media = post.media.map(PictureView.init)
    image = Nullable(media.first?.url.text ?? post.image)
    createdAt = post.createdAt
    editedAt = Nullable(post.editedAt)
    likes = post.likes
    comments = post.comments
    isLiked = post.isLiked
    isMine = post.isMine
  }

  func write(to json: inout JSONBytes) {
    json.object { json in
      json.field("id", id)
      json.field("author", author)
      json.field("title", title)
      json.field("description", description)
      json.field("media", media)
      json.field("image", image.value)
      json.field("createdAt", createdAt)
      json.field("editedAt", editedAt.value)
      json.field("likes", likes)
      json.field("comments", comments)
      json.field("isLiked", isLiked)
      json.field("isMine", isMine)
    }
  }
}

struct FanOutView: Encodable, Sendable {
  /// `push` or `pull`.
  let mode: String
  let followers: Int
  let delivered: Int
  let done: Bool
  let startedAt: Nullable<Date>
  let finishedAt: Nullable<Date>

  init(_ progress: FanOutProgress) {
    mode = progress.mode.rawValue
    followers = progress.followers
    delivered = progress.delivered
    done = progress.isDone
    startedAt = Nullable(progress.startedAt)
    finishedAt = Nullable(progress.finishedAt)
  }
}
