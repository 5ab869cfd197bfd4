import Foundation

@testable import Social

/// The exports of a random app, and what an import is to make of them.
struct FirebaseExport {
  let folder: URL
  var users: [String] = []
  /// Post, author.
  var posts: [(id: String, author: String)] = []
  var follows = 0
  var likes = 0
  var comments = 0
  var messages = 0
  var celebs = 0
  var hearts = 0
  var pictures = 0
  /// Likes, comments and follows by others, with whether their notification is read.
  var notices = 0
  var unread = 0

  var auth: String { folder.appending(path: "auth.json").path }
  var firestore: String { folder.appending(path: "firestore.json").path }
  var database: String { folder.appending(path: "database.json").path }
  var storage: String { folder.appending(path: "storage").path }
  var hashConfig: String { folder.appending(path: "hash").path }
  var rejects: String { folder.appending(path: "rejects.jsonl").path }

  /// The files of an import of everything.
  var files: FirebaseImport {
    var files = FirebaseImport(rejects: rejects)
    files.auth = auth
    files.firestore = firestore
    files.database = database
    files.storage = storage
    files.hashConfig = hashConfig
    return files
  }

  /// A PNG file of one pixel, another for each number.
  static func png(_ number: Int) -> [UInt8] {
    // Only the header is read: the bytes behind it make files differ.
    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0, 0, 1, 8, 2]
      + [0, 0, 0, 0x90, 0x77, 0x53, 0xDE] + [UInt8(number & 255), UInt8(number >> 8)]
  }

  init(users count: Int, in folder: URL, using generator: inout some RandomNumberGenerator) throws {
    self.folder = folder
    let now = Int(Date.now.timeIntervalSince1970)
    func time(_ generator: inout some RandomNumberGenerator) -> Int {
      now - Int.random(in: 1000...100 * 86_400, using: &generator)
    }
    func chance(_ share: Double, _ generator: inout some RandomNumberGenerator) -> Bool {
      Double.random(in: 0..<1, using: &generator) < share
    }
    users = (0..<count).map { "uid\($0)" }
    try FileManager.default.createDirectory(
      at: folder.appending(path: "storage/posts"), withIntermediateDirectories: true)
    for number in 0..<10 {
      try Data(Self.png(number)).write(to: folder.appending(path: "storage/posts/\(number).png"))
    }

    var signIns: [[String: Any]] = []
    var profiles: [String: Any] = [:]
    var posts: [String: Any] = [:]
    for (number, uid) in users.enumerated() {
      var signIn: [String: Any] = [
        "localId": uid, "email": "User\(number)@example.org", "createdAt": String(time(&generator) * 1000),
      ]
      if chance(0.7, &generator) {
        signIn["passwordHash"] = FirebasePasswordTests.hash
        signIn["salt"] = FirebasePasswordTests.salt
      }
      signIns.append(signIn)
      if number > 0, chance(0.1, &generator) { continue }
      var profile: [String: Any] = ["username": "user\(number)", "name": "이름 \(number)"]
      if chance(0.3, &generator) {
        profile["profileImageUrl"] =
          "https://firebasestorage.googleapis.com/v0/b/app/o/posts%2F\(number % 10).png?alt=media"
        pictures += 1
      }
      profiles[uid] = profile
    }
    for number in 0..<2 * count {
      let author = users[Int.random(in: 0..<count, using: &generator)]
      self.posts.append((id: "post\(number)", author: author))
      var post: [String: Any] = [
        "ownerUid": author, "caption": "title \(number)\nand more",
        // Many in one second, and some from before ids begin.
        "creationDate": chance(0.3, &generator) ? 1_650_000_000 : time(&generator), "likes": 3,
      ]
      if chance(0.3, &generator) {
        post["images"] = ["posts/1.png", "gs://app/posts/2.png"]
        pictures += 2
      }
      posts["post\(number)"] = post
    }

    var following: [String: Any] = [:]
    var allLikes: [String: Any] = [:]
    var allComments: [String: Any] = [:]
    var notifications: [String: [String: Any]] = [:]
    func notify(_ owner: String, _ notification: [String: Any], _ generator: inout some RandomNumberGenerator) {
      let isRead = chance(0.5, &generator)
      var notification = notification
      notification["checked"] = isRead
      notification["creationDate"] = time(&generator)
      notifications[owner, default: [:]]["n\(notices)"] = notification
      notices += 1
      if !isRead { unread += 1 }
    }
    for uid in users {
      var followed: [String: Any] = [:]
      for followee in users.shuffled(using: &generator).prefix(Int.random(in: 0...5, using: &generator))
      where followee != uid {
        followed[followee] = ["createdAt": time(&generator)]
        follows += 1
        if chance(0.5, &generator) { notify(followee, ["type": 2, "uid": uid], &generator) }
      }
      if !followed.isEmpty { following[uid] = followed }
    }
    for (post, author) in self.posts {
      var likes: [String: Any] = [:]
      for uid in users.shuffled(using: &generator).prefix(Int.random(in: 0...4, using: &generator)) {
        likes[uid] = ["createdAt": time(&generator)]
        self.likes += 1
        if uid != author { notify(author, ["type": 0, "uid": uid, "postId": post], &generator) }
      }
      if !likes.isEmpty { allLikes[post] = likes }
      var comments: [String: Any] = [:]
      for number in 0..<Int.random(in: 0...3, using: &generator) {
        let uid = users[Int.random(in: 0..<count, using: &generator)]
        comments["c\(number)"] = ["uid": uid, "commentText": "hi \(number) 🎉", "creationDate": time(&generator)]
        self.comments += 1
        if uid != author { notify(author, ["type": 1, "uid": uid, "postId": post], &generator) }
      }
      if !comments.isEmpty { allComments[post] = comments }
    }
    var conversations: [String: Any] = [:]
    for number in 0..<count {
      let pair = Array(users.shuffled(using: &generator).prefix(2))
      var sent: [String: Any] = [:]
      let start = time(&generator)
      for place in 0..<Int.random(in: 1...5, using: &generator) {
        let isFirst = chance(0.5, &generator)
        sent["m\(place)"] = [
          "fromId": pair[isFirst ? 0 : 1], "toId": pair[isFirst ? 1 : 0], "messageText": "m\(place)",
          "creationDate": start + place, "read": chance(0.7, &generator),
        ]
        messages += 1
      }
      conversations["conversation\(number)"] = sent
    }
    var fans: [String: Any] = [:]
    for uid in users {
      var own: [String: Any] = [:]
      for number in (0..<5).shuffled(using: &generator).prefix(Int.random(in: 0...3, using: &generator)) {
        let isChannel = number < 3
        let hearts = Int.random(in: 0...20, using: &generator)
        let since = time(&generator)
        own[isChannel ? "UC" + String(repeating: "\(number)", count: 22) : "star\(number)"] = [
          "platform": isChannel ? 0 : 1, "count": hearts, "since": since, "recent": since + 900,
        ]
        celebs += 1
        self.hearts += hearts
      }
      if !own.isEmpty { fans[uid] = own }
    }
    try Self.write(["users": signIns], to: auth)
    try Self.write(["__collections__": ["users": profiles, "posts": posts]], to: firestore)
    try Self.write(
      [
        "following": following, "likes": allLikes, "comments": allComments, "messages": conversations,
        "notifications": notifications, "celebs": fans,
      ], to: database)
    try Data(FirebasePasswordTests.config.utf8).write(to: URL(filePath: hashConfig))
  }

  static func write(_ value: [String: Any], to path: String) throws {
    let data = try JSONSerialization.data(withJSONObject: value, options: [.prettyPrinted, .sortedKeys])
    try data.write(to: URL(filePath: path))
  }

  /// Runs `body` with a folder for exports.
  static func withFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "fanmill-firebase-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
  }
}
