/// An account as others see it in lists and beside posts.
public struct AccountSummary: Sendable, Hashable {
  public let id: Int
  public let username: String
  public let name: String
  public let major: String
  public let avatar: String?
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
  /// Whether the account that asks follows this one.
  public let isFollowed: Bool
}

/// An account as its owner sees it.
public struct OwnAccount: Sendable, Hashable {
  public let profile: Profile
  /// nil for an account that came by import.
  public let email: String?
}

/// What it takes to open an account. Checked when it is made.
public struct Registration: Sendable {
  /// nil for one that is made of the name.
  public let username: String?
  public let email: String
  public let password: String
  public let name: String
  public let major: String
  public let bio: String
  /// A picture that was uploaded for this sign-up.
  public let avatar: MediaID?

  /// - Throws: `invalid_username`, `invalid_email`, `invalid_password`, `invalid_name`, `invalid_major`, `invalid_bio`,
  ///   `invalid_avatar`, `use_media`.
  public init(
    username: String?, email: String, password: String, name: String, major: String = "", bio: String = "",
    avatar: String? = nil
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
  }
}

/// What an owner changes of an account; nil leaves a field as it is.
public struct AccountChanges: Sendable {
  public let username: String?
  public let name: String?
  public let major: String?
  public let bio: String?
  /// `.some(nil)` takes the picture away.
  public let avatar: MediaID??

  /// - Throws: `invalid_username`, `invalid_name`, `invalid_major`, `invalid_bio`, `invalid_avatar`, `use_media`.
  public init(
    username: String? = nil, name: String? = nil, major: String? = nil, bio: String? = nil, avatar: String?? = nil
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
    self.avatar =
      switch avatar {
      case nil: nil
      case .some(nil): .some(nil)
      case .some(let text?): .some(try MediaReference.one(text, "avatar"))
      }
  }
}

/// A password that an account gets. Checked when it is made.
public struct NewPassword: Sendable {
  public let text: String

  /// - Parameter field: where it stands in a request.
  /// - Throws: `invalid_password`.
  public init(_ text: String, field: String = "password") throws(SocialError) {
    try FieldRules.password(text, field)
    self.text = text
  }
}
