extension APIOperation {
  /// A chapter of the document.
  enum Tag: String, Sendable, CaseIterable {
    case accounts, account, users, posts, feeds, comments, likes, notifications, messages, events, pictures, celebs,
      rankings, certificates, purchases, meetings, agreements, safety, operators, document

    var title: String {
      switch self {
      case .account: "Own account"
      case .feeds: "Feeds"
      default: rawValue.prefix(1).uppercased() + rawValue.dropFirst()
      }
    }

    var summary: String {
      switch self {
      case .accounts: "Sign-up, sign-in, forgotten passwords and confirmed addresses."
      case .account: "The signed-in account: its profile, password, address, sessions and deletion."
      case .users: "Profiles, search, and who follows whom."
      case .posts: "Posts, their search, and how far a post's fan-out has come."
      case .feeds: "Everybody's posts, and those of the accounts that one follows."
      case .comments: "Comments on a post."
      case .likes: "Likes of posts."
      case .notifications: "Likes, comments and followers, grouped for reading, and how many are unread."
      case .messages: "Conversations between two accounts."
      case .events: "What is new, as a stream of server-sent events."
      case .pictures: "Uploads, and the pictures themselves."
      case .celebs: "Celebs, their fans' lists and hearts, and the search of channels."
      case .rankings: "Celebs by hearts or followers."
      case .certificates: "A fan's certificate, its page and card, and the keys that verify it."
      case .purchases: "More places for celebs, by purchase."
      case .meetings: "Two devices meet by a code, exchange sealed messages, and seal a record."
      case .agreements: "Sealed records, and the backup of the keys that open them."
      case .safety: "Blocks, mutes, reports, and notices from operators."
      case .operators: "Jobs and autoscaling, with an operators' token."
      case .document: "This document."
      }
    }
  }
}
