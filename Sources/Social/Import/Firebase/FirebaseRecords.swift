import Foundation

/// The records as the app wants them. Each checks its fields by the app's own rules.
enum FirebaseRecords {
  /// The problem that a rule of the app states.
  private static func check(_ body: () throws(SocialError) -> Void) throws(RecordProblem) {
    do throws(SocialError) { try body() } catch { throw RecordProblem(description: error.message) }
  }

  struct SignIn: Sendable {
    let uid: String
    let email: String?
    /// A text to store; nil for users of other providers.
    let passwordHash: String?
    let name: String
    let createdAt: Date?
    let isDisabled: Bool

    /// - Parameter scrypt: nil to leave passwords out.
    init(_ fields: RecordFields, scrypt: FirebaseScrypt?, now: Date) throws(RecordProblem) {
      uid = try fields.key("user")
      if let address = try fields.optionalText("email"), !address.isEmpty {
        let email = NormalForm.compared(address)
        try FirebaseRecords.check { () throws(SocialError) in try FieldRules.email(email) }
        self.email = email
      } else {
        email = nil
      }
      let name = NormalForm.shown(try fields.optionalText("name") ?? "")
      // A display name is only a stopgap for a profile's name.
      self.name = (try? FieldRules.line(name, "name", 0...100)) == nil ? "" : name
      createdAt = try fields.optionalDate("createdAt", now: now)
      isDisabled = try fields.optionalFlag("disabled") ?? false
      guard let scrypt, let hash = try fields.optionalText("hash"), !hash.isEmpty else {
        passwordHash = nil
        return
      }
      let salt = try fields.optionalText("salt") ?? ""
      do throws(FirebaseScrypt.Refusal) {
        passwordHash = try scrypt.stored(hash: hash, salt: salt)
      } catch {
        throw RecordProblem(description: error.description)
      }
    }
  }

  struct User: Sendable {
    let uid: String
    /// nil to derive one.
    let username: String?
    let name: String
    let major: String
    let bio: String
    let picture: String?
    let createdAt: Date?

    init(_ fields: RecordFields, now: Date) throws(RecordProblem) {
      // The one kind that requires no field.
      try fields.checkObject()
      uid = try fields.key("user")
      let username = NormalForm.shown(try fields.optionalText("username") ?? "")
      self.username = username.isEmpty ? nil : username
      let name = NormalForm.shown(try fields.optionalText("name") ?? "")
      let major = NormalForm.shown(try fields.optionalText("major") ?? "")
      let bio = try fields.optionalText("bio") ?? ""
      try FirebaseRecords.check { () throws(SocialError) in
        try FieldRules.line(name, "name", 0...100)
        try FieldRules.line(major, "major", 0...100)
        try FieldRules.text(bio, "bio", 0...1000)
      }
      self.name = name
      self.major = major
      self.bio = bio
      picture = try fields.texts("picture").first
      createdAt = try fields.optionalDate("createdAt", now: now)
    }

    /// A user without a profile.
    init(uid: String) {
      self.uid = uid
      (username, name, major, bio, picture, createdAt) = (nil, "", "", "", nil, nil)
    }
  }

  struct Post: Sendable {
    let source: String
    let author: String
    let title: String
    let description: String
    let pictures: [String]
    let createdAt: Date
    let editedAt: Date?

    private static let longestTitle = 200

    init(_ fields: RecordFields, now: Date) throws(RecordProblem) {
      source = try fields.key("post")
      author = try fields.key("author")
      let text = try fields.optionalText("description") ?? ""
      if let title = try fields.optionalText("title"), !title.allSatisfy(\.isWhitespace) {
        self.title = title
        description = text
      } else {
        // An app with captions alone: the first line is the title, and the rest follows.
        let (title, rest) = Self.split(text)
        self.title = title
        description = rest
      }
      let checked = (title: title, description: description)
      try FirebaseRecords.check { () throws(SocialError) in
        _ = try PostDraft(title: checked.title, description: checked.description)
      }
      pictures = try fields.texts("pictures")
      guard pictures.count <= MediaReference.maxPerPost else {
        throw RecordProblem(description: "has more than \(MediaReference.maxPerPost) pictures")
      }
      createdAt = try fields.date("createdAt", now: now)
      editedAt = try fields.optionalDate("editedAt", now: now)
    }

    private static func split(_ text: String) -> (title: String, rest: String) {
      let trimmed = NormalForm.shown(text)
      let line = trimmed.prefix { !$0.isNewline }
      if line.unicodeScalars.count <= longestTitle {
        return (line.isEmpty ? "…" : String(line), NormalForm.shown(String(trimmed[line.endIndex...])))
      }
      var title = ""
      for character in line {
        guard title.unicodeScalars.count + character.unicodeScalars.count < longestTitle else { break }
        title.append(character)
      }
      return (title + "…", trimmed)
    }
  }

  struct Follow: Sendable {
    let follower: String
    let followee: String
    let createdAt: Date?

    var source: String { "\(follower)/\(followee)" }

    init(_ fields: RecordFields, now: Date) throws(RecordProblem) {
      follower = try fields.key("follower")
      followee = try fields.key("followee")
      guard follower != followee else { throw RecordProblem(description: "is a user who follows themselves") }
      createdAt = try fields.optionalDate("createdAt", now: now)
    }
  }

  struct Like: Sendable {
    let post: String
    let user: String
    let createdAt: Date?

    var source: String { "\(post)/\(user)" }

    init(_ fields: RecordFields, now: Date) throws(RecordProblem) {
      post = try fields.key("post")
      user = try fields.key("user")
      createdAt = try fields.optionalDate("createdAt", now: now)
    }
  }

  struct Comment: Sendable {
    let source: String
    let post: String
    let author: String
    let text: String
    let createdAt: Date

    init(_ fields: RecordFields, now: Date) throws(RecordProblem) {
      post = try fields.key("post")
      source = "\(post)/\(try fields.key("comment"))"
      author = try fields.key("author")
      let text = try fields.text("text")
      try FirebaseRecords.check { () throws(SocialError) in try FieldRules.said(text) }
      self.text = text
      createdAt = try fields.date("createdAt", now: now)
    }
  }

  struct Message: Sendable {
    let source: String
    let sender: String
    let recipient: String
    let text: String
    let createdAt: Date
    let isRead: Bool

    init(_ fields: RecordFields, place: String, now: Date) throws(RecordProblem) {
      source = place
      sender = try fields.key("sender")
      recipient = try fields.key("recipient")
      guard sender != recipient else { throw RecordProblem(description: "is a user's message to themselves") }
      let text = try fields.text("text")
      try FirebaseRecords.check { () throws(SocialError) in try FieldRules.said(text) }
      self.text = text
      createdAt = try fields.date("createdAt", now: now)
      isRead = try fields.optionalFlag("read") ?? true
    }
  }

  struct Notification: Sendable {
    let source: String
    let owner: String
    let actor: String
    let type: NotificationType
    /// nil for a follow.
    let post: String?
    let isChecked: Bool
    let createdAt: Date

    init(_ fields: RecordFields, place: String, now: Date) throws(RecordProblem) {
      source = place
      owner = try fields.key("owner")
      actor = try fields.key("actor")
      guard owner != actor else { throw RecordProblem(description: "notifies a user of their own act") }
      let text = try fields.text("type")
      switch text {
      case "0", "like": type = .like
      case "1", "comment": type = .comment
      case "2", "follow": type = .follow
      default:
        throw RecordProblem(
          description: "type is '\(text.prefix(20))'; there are 0 (a like), 1 (a comment) and 2 (a follow)")
      }
      post = type == .follow ? nil : try fields.key("post")
      isChecked = try fields.optionalFlag("checked") ?? true
      createdAt = try fields.date("createdAt", now: now)
    }
  }

  struct Celeb: Sendable {
    let fan: String
    let account: CelebAccount
    let hearts: Int
    let since: Date
    let recent: Date?

    var source: String { "\(fan)/\(account.platform.rawValue)/\(account.name)" }

    /// A heart every ten minutes makes as many in nineteen years.
    private static let mostHearts = 1_000_000

    init(_ fields: RecordFields, now: Date) throws(RecordProblem) {
      fan = try fields.key("fan")
      let platform = try fields.optionalText("platform")
      // The key of the record is the account, unless a field has it.
      let name: String
      if let account = try fields.optionalText("account") {
        name = account
      } else {
        name = try fields.key("celeb")
      }
      do throws(SocialError) {
        account =
          if let platform {
            try CelebAccount(platform: platform.lowercased(), account: name)
          } else {
            try CelebAccount(.youtube, name)
          }
      } catch {
        throw RecordProblem(description: error.message)
      }
      hearts = try fields.optionalInteger("count") ?? 0
      guard (0...Self.mostHearts).contains(hearts) else {
        throw RecordProblem(description: "count is not a number from 0 to \(Self.mostHearts)")
      }
      let since = try fields.date("since", now: now)
      recent = try fields.optionalDate("recent", now: now).map { max($0, since) }
      self.since = since
    }
  }
}
