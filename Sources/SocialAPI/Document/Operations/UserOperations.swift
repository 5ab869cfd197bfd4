extension APIOperation {
  static let searchUsers = APIOperation(
    id: "searchUsers", method: .get, path: "users", tag: .users, summary: "Finds accounts by username, name or major.",
    details: "Each word must occur. Best matches first; the newest accounts for an empty query.",
    parameters: [.query("query", .text(0...100).saying("Words to search for.", example: "bo"))] + .page,
    outcomes: [.page(.named("ListedAccount"))], isConditional: true)

  static let readUser = APIOperation(
    id: "readUser", method: .get, path: "users/{name}", tag: .users, summary: "Returns an account's page.",
    parameters: [.username], outcomes: [.json(200, .named("Profile"), "The page.")], isConditional: true)

  static let follow = APIOperation(
    id: "follow", method: .put, path: "users/{name}/follow", tag: .users, summary: "Follows an account.",
    parameters: [.username], outcomes: [.noContent], codes: [.cannotFollowYourself], isBudgeted: true)

  static let unfollow = APIOperation(
    id: "unfollow", method: .delete, path: "users/{name}/follow", tag: .users, summary: "Unfollows an account.",
    parameters: [.username], outcomes: [.noContent])

  static let listFollowers = APIOperation(
    id: "listFollowers", method: .get, path: "users/{name}/followers", tag: .users,
    summary: "Lists an account's followers.", parameters: [.username] + .page,
    outcomes: [.page(.named("ListedAccount"))], isConditional: true)

  static let listFollowing = APIOperation(
    id: "listFollowing", method: .get, path: "users/{name}/following", tag: .users,
    summary: "Lists the accounts that an account follows.", parameters: [.username] + .page,
    outcomes: [.page(.named("ListedAccount"))], isConditional: true)

  static let listUserPosts = APIOperation(
    id: "listUserPosts", method: .get, path: "users/{name}/posts", tag: .users,
    summary: "Lists an account's posts, newest first.", parameters: [.username] + .page,
    outcomes: [.page(.named("Post"))], isConditional: true)

  // MARK: Safety

  static let block = APIOperation(
    id: "block", method: .put, path: "users/{name}/block", tag: .safety, summary: "Blocks an account.",
    details: "Neither account sees the other. Follows between them end.", parameters: [.username],
    outcomes: [.noContent], codes: [.cannotBlockYourself])

  static let unblock = APIOperation(
    id: "unblock", method: .delete, path: "users/{name}/block", tag: .safety, summary: "Ends a block.",
    parameters: [.username], outcomes: [.noContent])

  static let mute = APIOperation(
    id: "mute", method: .put, path: "users/{name}/mute", tag: .safety, summary: "Mutes an account.",
    details: "Hides its activity from the caller's feeds, threads, notifications and events.", parameters: [.username],
    outcomes: [.noContent], codes: [.cannotBlockYourself])

  static let unmute = APIOperation(
    id: "unmute", method: .delete, path: "users/{name}/mute", tag: .safety, summary: "Ends a mute.",
    parameters: [.username], outcomes: [.noContent])

  static let listBlocks = APIOperation(
    id: "listBlocks", method: .get, path: "me/blocks", tag: .safety, summary: "Lists the blocked accounts.",
    details: "One that has blocked the viewer as well is listed as `~ID`, which `unblock` takes instead of a username.",
    parameters: .page, outcomes: [.page(.named("RestrictedAccount"))])

  static let listMutes = APIOperation(
    id: "listMutes", method: .get, path: "me/mutes", tag: .safety, summary: "Lists the muted accounts.",
    details: "Without those that have blocked the viewer.",
    parameters: .page, outcomes: [.page(.named("RestrictedAccount"))])

  static let listNotices = APIOperation(
    id: "listNotices", method: .get, path: "me/notices", tag: .safety, summary: "Lists operators' notices.",
    parameters: .page, outcomes: [.page(.named("Notice"))])
}
