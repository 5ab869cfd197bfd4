import DurableJobs
import LocalStack
import Foundation
import Testing

@testable import SocialAPI

/// Sends the document's examples, and compares the answers with its example answers.
@Suite(.timeLimit(.minutes(3))) struct DocumentExampleTests {
  /// Examples that need what no story has: a mailed token, another device, a store's signature, or YouTube. The tests
  /// of these routes send requests of their own, which are compared with the document as well.
  private static let unsent: Set<String> = [
    "resetPassword", "confirmEmail", "confirmDeletion", "listen", "uploadPicture", "readUpload", "deleteUpload",
    "showPicture", "showPictureHead", "showSVGCard", "showPNGCard", "searchChannels", "readLookup",
    "takePurchaseNotice", "joinMeeting", "openCommitment", "sendSealedMessage", "sealRecord", "readAgreement",
    "deleteAgreement", "withdraw", "readAutoscaling", "requestExport", "fetchExport",
  ]

  @Test func examplesAreAnsweredAsTheyShow() async throws {
    try await API.run { api in
      var story = Story(api: api)
      try await account(&story)
      let posts = try await people(&story)
      try await conversations(&story)
      try await celebs(&story)
      try await agreements(&story)
      try await safety(&story, post: posts)
      try await operators(&story)
      try await end(&story)
      let all = Set(APIOperation.all.map(\.id))
      #expect(story.sent.union(Self.unsent) == all, "unsent: \(all.subtracting(story.sent).subtracting(Self.unsent))")
      #expect(story.sent.isDisjoint(with: Self.unsent))
    }
  }

  private func account(_ story: inout Story) async throws {
    let opened = try await story.send(.openAccount)
    story.token = try #require(opened.json["token"] as? String)
    _ = try await story.send(.signIn)
    _ = try await story.send(.readAccount)
    _ = try await story.send(.changeAccount)
    let sessions = try await story.send(.listSessions)
    let other = try #require(sessions.items.first { $0["isCurrent"] as? Bool == false }?["id"] as? String)
    _ = try await story.send(.endSession, ["id": other])
    _ = try await story.send(.endOtherSessions)
    _ = try await story.send(.requestPasswordReset)
    _ = try await story.send(.requestConfirmation)
    _ = try await story.send(.issueUploadToken)
  }

  /// - Returns: a post of bob's.
  private func people(_ story: inout Story) async throws -> Int {
    let api = story.api
    let bob = try await api.open("bob")
    _ = try await story.send(.searchUsers)
    _ = try await story.send(.follow, ["name": "bob"])
    _ = try await story.send(.readUser, ["name": "bob"])
    _ = try await story.send(.listFollowers, ["name": "bob"])
    _ = try await story.send(.listFollowing)
    let made = try await story.send(.createPost)
    let own = String(try #require(made.json["id"] as? Int))
    _ = try await story.send(.searchPosts)
    _ = try await story.send(.readPost, ["id": own])
    _ = try await story.send(.readFanOut, ["id": own])
    _ = try await story.send(.editPost, ["id": own])
    _ = try await story.send(.listUserPosts)
    _ = try await story.send(.readHomeFeed)
    _ = try await story.send(.readFollowingFeed)
    let post = try await api.post("bob's", as: bob)
    _ = try await story.send(.like, ["id": "\(post)"])
    _ = try await story.send(.listLikes)
    _ = try await story.send(.unlike, ["id": "\(post)"])
    let comment = try await story.send(.createComment, ["id": "\(post)"])
    _ = try await story.send(.listComments, ["id": "\(post)"])
    let id = String(try #require(comment.json["id"] as? Int))
    _ = try await story.send(.deleteComment, ["id": "\(post)", "comment": id])
    #expect(try await api.send("PUT", "/v1/posts/\(own)/like", as: bob).status == 204)
    try await api.drain("notifications")
    _ = try await story.send(.listNotifications)
    _ = try await story.send(.countUnread)
    _ = try await story.send(.checkNotifications)
    _ = try await story.send(.deletePost, ["id": own])
    _ = try await story.send(.unfollow, ["name": "bob"])
    return post
  }

  private func conversations(_ story: inout Story) async throws {
    _ = try await story.send(.sendMessage)
    _ = try await story.send(.listMessages)
    _ = try await story.send(.listConversations)
    _ = try await story.send(.countUnreadMessages)
    _ = try await story.send(.readConversation)
  }

  private func celebs(_ story: inout Story) async throws {
    _ = try await story.send(.registerCeleb)
    _ = try await story.send(.listCelebs)
    _ = try await story.send(.editCeleb)
    _ = try await story.send(.giveHeart)
    _ = try await story.send(.readCeleb)
    _ = try await story.send(.readHistory)
    _ = try await story.send(.readRanking)
    let certificate = try await story.send(.issueCertificate)
    _ = try await story.send(.checkCertificate, ["token": try #require(certificate.json["token"] as? String)])
    _ = try await story.send(.listKeys)
    _ = try await story.send(.replaceCeleb)
    _ = try await story.send(.removeCeleb)
    _ = try await story.send(.listPurchases)
  }

  private func agreements(_ story: inout Story) async throws {
    #expect(try await story.api.send("PATCH", "/v1/me", as: story.token, #"{"adult":true}"#).status == 200)
    _ = try await story.send(.listTemplates)
    _ = try await story.send(.listAgreements)
    let meeting = String(try #require(try await story.send(.beginMeeting).json["id"] as? Int))
    _ = try await story.send(.readMeeting, ["id": meeting])
    _ = try await story.send(.listSealedMessages, ["id": meeting])
    _ = try await story.send(.leaveMeeting, ["id": meeting])
    _ = try await story.send(.keepBackup)
    _ = try await story.send(.readBackup)
    _ = try await story.send(.openBackup)
    _ = try await story.send(.deleteBackup)
  }

  private func safety(_ story: inout Story, post: Int) async throws {
    _ = try await story.send(.report)
    _ = try await story.send(.mute, ["name": "bob"])
    _ = try await story.send(.listMutes)
    _ = try await story.send(.unmute, ["name": "bob"])
    _ = try await story.send(.block, ["name": "bob"])
    _ = try await story.send(.listBlocks)
    #expect(try await story.api.send("GET", "/v1/posts/\(post)", as: story.token).status == 404)
    _ = try await story.send(.unblock, ["name": "bob"])
    _ = try await story.send(.listNotices)
  }

  private func operators(_ story: inout Story) async throws {
    let job = try await story.send(.enqueueJob)
    _ = try await story.send(.readJob, ["name": try #require(job.json["id"] as? String)])
    _ = try await story.send(.readDocument)
    for page in [APIOperation.showDocs, .showDocsPage, .showDocsStyle] { try await story.fetch(page) }
  }

  private func end(_ story: inout Story) async throws {
    _ = try await story.send(.changeEmail)
    let session = try await story.send(.signIn)
    let owner = story.token
    story.token = try #require(session.json["token"] as? String)
    _ = try await story.send(.signOut)
    story.token = owner
    _ = try await story.send(.deleteAccount)
    // Another account, whose password changes.
    story.token = try await story.api.open("cid")
    _ = try await story.send(.changePassword)
  }
}

/// An account that sends the document's examples.
private struct Story {
  let api: API
  var token: String?
  /// The ids of the operations that were sent.
  var sent: Set<String> = []

  init(api: API) { self.api = api }

  /// Sends an operation's example.
  ///
  /// - Parameter places: the values of parameters in the path; the example's where there is none.
  mutating func send(_ operation: APIOperation, _ places: [String: String] = [:]) async throws -> API.Reply {
    sent.insert(operation.id)
    let bearer: String? =
      switch operation.access {
      case .none: nil
      case .session, .uploader: token
      case .operators, .admin: adminToken
      }
    var path = operation.examplePath
    if !places.isEmpty {
      let query = path.split(separator: "?", maxSplits: 1).dropFirst().map { "?\($0)" }.joined()
      path = operation.fullPath
      for (name, value) in places { path = path.replacing("{\(name)}", with: value) }
      for parameter in operation.parameters where parameter.place == .path {
        path = path.replacing("{\(parameter.name)}", with: parameter.schema.sample.plain)
      }
      path += query
    }
    let reply = try await api.send(
      operation.method.rawValue, path, as: bearer, key: operation.isIdempotent ? operation.id : nil,
      operation.body?.sample.text)
    let outcome = try #require(
      operation.answers.first { $0.status == reply.status }, "\(operation.id): \(reply.status) \(reply.json)")
    if let content = outcome.contents.first, operation.id != "readDocument" {
      let answer = try JSONSerialization.data(withJSONObject: reply.json)
      let differences = Self.differences(try JSONValue(bytes: Array(answer)), content.sample, at: operation.id)
      #expect(differences.isEmpty)
    }
    return reply
  }

  /// Sends a page's example.
  mutating func fetch(_ operation: APIOperation) async throws {
    sent.insert(operation.id)
    #expect(try await api.exchange(operation.method.rawValue, operation.examplePath).status == 200, "\(operation.id)")
  }

  /// Where an answer lacks a field of the example, or has another type. Null compares equal to anything, and only the
  /// first elements of lists are compared.
  private static func differences(_ answer: JSONValue, _ example: JSONLiteral, at place: String) -> [String] {
    switch (answer, example) {
    case (.null, _), (_, .null): []
    case (.object(let fields), .object(let shown)):
      shown.flatMap { field -> [String] in
        guard let value = fields[field.name] else { return ["\(place): \(field.name) is missing"] }
        return differences(value, field.value, at: "\(place).\(field.name)")
      }
    case (.array(let elements), .array(let shown)):
      if let element = elements.first, let form = shown.first {
        differences(element, form, at: "\(place)[0]")
      } else {
        []
      }
    case (.string, .string), (.bool, .bool), (.integer, .integer), (.number, .number), (.integer, .number),
      (.number, .integer):
      []
    default: ["\(place): \(answer.kind) instead of \(example.text)"]
    }
  }
}
