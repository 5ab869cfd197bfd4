import Foundation

@testable import FanmillClient
@testable import SocialAPI

/// A call of the client for an operation of the API's document.
struct ClientCall: Sendable {
  /// What a call returns, in the form of the answer that it was made from.
  typealias Returned = any Encodable & Sendable

  let operation: APIOperation
  let returnsFields: Bool
  let send: @Sendable (FanmillClient) async throws -> Returned?

  /// A call whose answer has fields. `send` returns them under the names of the document.
  static func returning(
    _ operation: APIOperation, _ send: @escaping @Sendable (FanmillClient) async throws -> Returned
  ) -> ClientCall {
    ClientCall(operation: operation, returnsFields: true, send: send)
  }

  /// A call whose answer has no fields, or whose fields another call returns.
  static func sending(
    _ operation: APIOperation, _ send: @escaping @Sendable (FanmillClient) async throws -> Void
  ) -> ClientCall {
    ClientCall(operation: operation, returnsFields: false) { client in
      try await send(client)
      return nil
    }
  }

  /// The client's calls: at least one for each operation, and for each of its fields and parameters.
  static let all: [ClientCall] = [
    accounts, account, people, posts, news, pictures, celebs, certificates, meetings, agreements,
  ].flatMap(\.self)

  // MARK: Exceptions

  /// Operations without a call.
  static let uncalled: [String: String] = [
    "showPictureHead": "an app fetches the picture itself",
    "enqueueJob": "for operators", "readJob": "for operators", "readAutoscaling": "for scalers",
    "readDocument": "for programs that make clients",
    "showDocs": "a page", "showDocsPage": "a page", "showDocsStyle": "of the pages",
  ]

  /// Fields, parameters and headers of requests that no call sends.
  static let unsent: [String: String] = [
    "openAccount.Fanmill-Session": "for browsers", "signIn.Fanmill-Session": "for browsers",
    "createPost.image": "refused unless null", "editPost.image": "refused unless null",
    "showPicture.If-None-Match": "the client keeps no pictures", "showPicture.Range": "pictures are fetched whole",
    "showPicture.If-Range": "pictures are fetched whole",
    "showSVGCard.If-None-Match": "the client keeps no cards", "showPNGCard.If-None-Match": "the client keeps no cards",
    "fetchExport.Range": "the file is fetched whole", "fetchExport.If-Range": "the file is fetched whole",
    "fetchExport.If-None-Match": "the client keeps no files",
  ]

  /// Fields of answers that no call returns.
  static let unreturned: [String: String] = [
    "readAccount.isFollowed": "never of oneself", "readAccount.isMuted": "never of oneself",
    "changeAccount.isFollowed": "never of oneself", "changeAccount.isMuted": "never of oneself",
    "listNotifications.items.uid": "actors has it as id", "listNotifications.items.actors.uid": "the same as id",
    "checkCertificate.valid": "never false: an invalid certificate is a problem",
    "listKeys.keys.kty": "always OKP", "listKeys.keys.crv": "always Ed25519", "listKeys.keys.alg": "always EdDSA",
    "listKeys.keys.use": "always sig",
    "withdraw.id": "the caller has it",
  ]

  /// The places of `unreturned`, and the cursors of short lists, which the client reads whole.
  static let ignored = Set(unreturned.keys).union(
    APIOperation.all.filter(\.isShortList).map { "\($0.id).next" })

  /// Fields of answers that the document calls optional and these requests always get.
  static let present: [String: Set<String>] = [
    // It is missing for cookie sessions alone.
    "signIn": ["token"]
  ]
}

extension APIOperation {
  /// Whether its list comes whole unless a client asks for pages.
  var isShortList: Bool { parameters.contains { $0.name == "limit" && $0.schema == [Parameter].part[1].schema } }

  /// The outcomes that end a call of the client: neither a part of a file, nor a request to wait.
  var endings: [Outcome] {
    outcomes.filter { outcome in
      (200..<300).contains(outcome.status) && outcome.status != 206
        && !outcome.headers.contains { $0.name == "Retry-After" }
    }
  }
}

/// Values that the document's rules allow.
enum Sample {
  static let picture = Schema.mediaID.sample.plain
  static let token = Schema.token.sample.plain
  static let certificate = Schema.jws.sample.plain
  static let lookup = Schema.uuid.sample.plain
  static let celeb = CelebAccount(.instagram, "an.artist")
  static let cursor = PageCursor(rawValue: 41)
}
