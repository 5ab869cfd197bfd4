import LibPQClient

/// An account as shown to others, in lists and next to posts.
public struct AccountSummary: Sendable, Hashable {
  public let id: Int
  public let username: String
  public let name: String
  public let major: String
  public let avatar: String?

  /// The columns that `init(row:at:)` reads, selected from accounts `a`.
  static let columns = "a.id, a.username, a.name, a.major, \(Accounts.avatar)"

  init(id: Int, username: String, name: String, major: String, avatar: String?) {
    self.id = id
    self.username = username
    self.name = name
    self.major = major
    self.avatar = avatar
  }

  /// - Parameter first: the index of the id column.
  init(row: PostgresRow, at first: Int = 0) throws(PostgresError) {
    id = try Int(postgres: row[first])
    username = try String(postgres: row[first + 1])
    name = try String(postgres: row[first + 2])
    major = try String(postgres: row[first + 3])
    avatar = try String?(postgres: row[first + 4])
  }

  /// The prefix of what stands for a username that is not to be told; no username begins with it.
  private static let mark: Character = "~"

  /// An account that is deleted, suspended or hidden from the reader. `~ID` stands for its username.
  static func unnamed(_ id: Int, _ name: String) -> AccountSummary {
    AccountSummary(id: id, username: "\(mark)\(id)", name: name, major: "", avatar: nil)
  }

  /// The id in `~ID`; nil for another text.
  static func unnamedID(_ text: String) -> Int? {
    text.first == mark ? EntityID.parse(String(text.dropFirst())) : nil
  }

  /// The existing accounts among these ids, by id.
  static func all(_ ids: Set<Int>, in reader: some SocialReader) async throws -> [Int: AccountSummary] {
    if ids.isEmpty { return [:] }
    let rows = try await reader.rows("SELECT \(unescaped: columns) FROM accounts a WHERE id = ANY (\(Array(ids)))")
    return try Dictionary(rows.map { try AccountSummary(row: $0) }.map { ($0.id, $0) }) { first, _ in first }
  }
}

/// An account's page.
public struct Profile: Sendable, Hashable {
  public let id: Int
  public let username: String
  public let name: String
  public let major: String
  public let bio: String
  public let avatar: String?
  public let posts: Int
  public let followers: Int
  public let following: Int
  /// Whether the viewer follows this account.
  public let isFollowed: Bool
  /// Whether the viewer has muted it.
  public let isMuted: Bool
}

/// An account as its owner sees it.
public struct OwnAccount: Sendable, Hashable {
  public let profile: Profile
  /// nil for an imported account.
  public let email: String?
  /// Whether the owner has stated that they are an adult.
  public let isAdult: Bool
}

/// The data for a new account, validated on creation.
public struct Registration: Sendable {
  /// nil to derive a username from the name.
  public let username: String?
  public let email: String
  public let password: String
  public let name: String
  public let major: String
  public let bio: String
  /// A picture uploaded for this sign-up.
  public let avatar: MediaID?
  /// Whether the owner states that they are an adult.
  public let isAdult: Bool

  /// - Throws: `invalid_username`, `invalid_email`, `invalid_password`, `invalid_name`, `invalid_major`, `invalid_bio`,
  ///   `invalid_avatar`, `use_media`.
  public init(
    username: String?, email: String, password: String, name: String, major: String = "", bio: String = "",
    avatar: String? = nil, isAdult: Bool = false
  ) throws(SocialError) {
    let username = username.map(NormalForm.shown)
    let email = NormalForm.compared(email)
    let name = NormalForm.shown(name)
    let major = NormalForm.shown(major)
    if let username { try FieldRules.username(username) }
    try FieldRules.email(email)
    try FieldRules.password(password)
    try FieldRules.line(name, "name", 1...100)
    try FieldRules.line(major, "major", 0...100)
    try FieldRules.text(bio, "bio", 0...1000)
    self.username = username
    self.email = email
    self.password = password
    self.name = name
    self.major = major
    self.bio = bio
    self.avatar = if let avatar { try MediaReference.one(avatar, "avatar") } else { nil }
    self.isAdult = isAdult
  }
}

/// An owner's changes to an account; nil leaves a field unchanged.
public struct AccountChanges: Sendable {
  public let username: String?
  public let name: String?
  public let major: String?
  public let bio: String?
  /// `.some(nil)` removes the picture.
  public let avatar: MediaID??
  /// Whether the owner states that they are an adult.
  public let isAdult: Bool?

  /// - Throws: `invalid_username`, `invalid_name`, `invalid_major`, `invalid_bio`, `invalid_avatar`, `use_media`.
  public init(
    username: String? = nil, name: String? = nil, major: String? = nil, bio: String? = nil, avatar: String?? = nil,
    isAdult: Bool? = nil
  ) throws(SocialError) {
    let username = username.map(NormalForm.shown)
    let name = name.map(NormalForm.shown)
    let major = major.map(NormalForm.shown)
    if let username { try FieldRules.username(username) }
    try FieldRules.line(name, "name", 1...100)
    try FieldRules.line(major, "major", 0...100)
    try FieldRules.text(bio, "bio", 0...1000)
    self.username = username
    self.name = name
    self.major = major
    self.bio = bio
    self.isAdult = isAdult
    self.avatar =
      switch avatar {
      case nil: nil
      case .some(nil): .some(nil)
      case .some(let text?): .some(try MediaReference.one(text, "avatar"))
      }
  }
}

/// A new password for an account, validated on creation.
public struct NewPassword: Sendable {
  public let text: String

  /// - Parameter field: the request field that holds it.
  /// - Throws: `invalid_FIELD`.
  public init(_ text: String, field: String = "password") throws(SocialError) {
    try FieldRules.password(text, field)
    self.text = text
  }
}
