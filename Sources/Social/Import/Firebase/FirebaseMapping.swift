import Foundation

/// Where an app keeps its records in Firebase, and what it calls their fields.
///
/// The usual names are those of `docs/moving-from-firebase.md`. A mapping file replaces some of them:
///
///     {"follows": {"paths": ["user-following/{follower}/{followee}"]}, "posts": {"fields": {"title": ["headline"]}}}
struct FirebaseMapping: Sendable {
  struct Collection: Sendable {
    var paths: [RecordPattern]
    /// For each of our fields, the names that it may have; the first that a record has counts.
    var fields: [String: [String]]
  }

  private var collections: [FirebaseKind: Collection]

  static let usual = FirebaseMapping(collections: [
    .auth: collection(
      ["users/{user}"],
      [
        "user": ["localId"], "email": ["email"], "hash": ["passwordHash"], "salt": ["salt"], "name": ["displayName"],
        "createdAt": ["createdAt"], "disabled": ["disabled"],
      ]),
    .users: collection(
      ["users/{user}"],
      [
        "user": [], "username": ["username"], "name": ["name", "fullname", "displayName"], "major": ["major"],
        "bio": ["bio"], "picture": ["avatar", "profileImageUrl", "photoURL", "photoUrl"],
        "createdAt": ["createdAt", "creationDate"],
      ]),
    .posts: collection(
      ["posts/{post}"],
      [
        "post": [], "author": ["author", "ownerUid", "uid", "userId"], "title": ["title"],
        "description": ["description", "caption", "text"],
        "pictures": ["images", "imageUrls", "media", "image", "imageUrl"],
        "createdAt": ["createdAt", "creationDate", "timestamp"], "editedAt": ["editedAt"],
      ]),
    .follows: collection(
      ["following/{follower}/{followee}", "user-following/{follower}/{followee}"],
      ["follower": [], "followee": [], "createdAt": ["createdAt", "creationDate"]]),
    .likes: collection(
      ["likes/{post}/{user}", "user-likes/{user}/{post}", "posts/{post}/likes/{user}"],
      ["post": [], "user": [], "createdAt": ["createdAt", "creationDate"]]),
    .comments: collection(
      ["comments/{post}/{comment}", "posts/{post}/comments/{comment}"],
      [
        "post": ["postId"], "comment": [], "author": ["author", "uid", "userId"],
        "text": ["text", "commentText", "comment"], "createdAt": ["createdAt", "creationDate", "timestamp"],
      ]),
    .messages: collection(
      ["messages/{conversation}/{message}"],
      [
        "message": [], "conversation": [], "sender": ["sender", "from", "fromId", "senderId"],
        "recipient": ["recipient", "to", "toId", "recipientId"], "text": ["text", "messageText", "message"],
        "createdAt": ["createdAt", "creationDate", "timestamp"], "read": ["read", "isRead", "seen"],
      ]),
    .notifications: collection(
      ["notifications/{owner}/{notification}"],
      [
        "owner": [], "notification": [], "actor": ["actor", "uid", "fromId"], "type": ["type"],
        "post": ["postId", "post"], "checked": ["checked", "read"],
        "createdAt": ["creationDate", "createdAt", "timestamp"],
      ]),
    .celebs: collection(
      ["celebs/{fan}/{celeb}"],
      [
        "fan": [], "celeb": [], "platform": ["platform"], "account": ["account", "channelId", "id"],
        "count": ["count"], "since": ["since"], "recent": ["recent"],
      ]),
  ])

  private static func collection(_ paths: [String], _ fields: [String: [String]]) -> Collection {
    Collection(paths: paths.compactMap { RecordPattern($0) }, fields: fields)
  }

  private init(collections: [FirebaseKind: Collection]) { self.collections = collections }

  /// Reads a mapping file.
  ///
  /// - Throws: `.unreadable`, `.malformed` with what is wrong and which names are known.
  init(file: String) throws(FirebaseImportError) {
    self = .usual
    let json: JSONDatum
    do {
      json = try JSONDatum(try ImportFile.bytes(of: file, atMost: JSONStream.maxBytes))
    } catch let error as FirebaseImportError {
      throw error
    } catch {
      throw FirebaseImportError(.malformed, "\(file) \(error)")
    }
    guard case .object(let kinds) = json else {
      throw FirebaseImportError(.malformed, "\(file) is not a JSON object of collections")
    }
    for (name, value) in kinds.sorted(by: { $0.key < $1.key }) {
      guard let kind = FirebaseKind(rawValue: name), var collection = collections[kind] else {
        let known = collections.keys.map(\.rawValue).sorted().joined(separator: ", ")
        throw FirebaseImportError(.malformed, "\(file): there are no records called '\(name)'; known are \(known)")
      }
      try Self.change(&collection, value, "\(file): \(name)")
      collections[kind] = collection
    }
  }

  private static func change(
    _ collection: inout Collection, _ value: JSONDatum, _ place: String
  ) throws(FirebaseImportError) {
    guard case .object(let parts) = value, Set(parts.keys).isSubset(of: ["paths", "fields"]) else {
      throw FirebaseImportError(.malformed, "\(place) must be an object with 'paths', 'fields', or both")
    }
    if let paths = parts["paths"] {
      let texts = try Self.names(paths, "\(place).paths")
      var patterns: [RecordPattern] = []
      for text in texts {
        guard let pattern = RecordPattern(text) else {
          throw FirebaseImportError(
            .malformed, "\(place).paths: '\(text)' must have keys and {names} between slashes, a {name} at the end")
        }
        patterns.append(pattern)
      }
      collection.paths = patterns
    }
    guard let fields = parts["fields"] else { return }
    guard case .object(let fields) = fields else {
      throw FirebaseImportError(.malformed, "\(place).fields must be an object")
    }
    for (field, names) in fields.sorted(by: { $0.key < $1.key }) {
      guard collection.fields[field] != nil else {
        let known = collection.fields.keys.sorted().joined(separator: ", ")
        throw FirebaseImportError(.malformed, "\(place).fields: there is no field '\(field)'; known are \(known)")
      }
      collection.fields[field] = try Self.names(names, "\(place).fields.\(field)")
    }
  }

  private static func names(_ value: JSONDatum, _ place: String) throws(FirebaseImportError) -> [String] {
    if case .string(let name) = value { return [name] }
    guard case .array(let elements) = value else {
      throw FirebaseImportError(.malformed, "\(place) must be a string or a list of strings")
    }
    var names: [String] = []
    for element in elements {
      guard case .string(let name) = element else {
        throw FirebaseImportError(.malformed, "\(place) must be a list of texts")
      }
      names.append(name)
    }
    return names
  }

  func paths(of kind: FirebaseKind) -> [RecordPattern] { collections[kind]?.paths ?? [] }

  func fields(of kind: FirebaseKind) -> [String: [String]] { collections[kind]?.fields ?? [:] }

  /// The places of all records in databases.
  var allPaths: [RecordPattern] { FirebaseKind.ofDatabases.flatMap { paths(of: $0) } }

  /// The path that a user's profile would have.
  func path(ofUser uid: String) -> [String] {
    guard let pattern = paths(of: .users).first else { return ["users", uid] }
    return pattern.segments.map { segment in
      switch segment {
      case .key(let key): key
      case .name: uid
      }
    }
  }

  /// The names in a path of a record; nil if no place of this kind is like it.
  func names(in path: [String], of kind: FirebaseKind) -> [String: String]? {
    for pattern in paths(of: kind) {
      if let names = pattern.names(in: path) { return names }
    }
    return nil
  }
}
