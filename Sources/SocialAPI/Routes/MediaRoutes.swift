import DurableJobs
import HTTPTypes
import Hummingbird
import LibPQClient
import Social

/// `media`: accounts' uploads. The pictures themselves are at `/media`, see ``PictureRoutes``.
struct MediaRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool
  let shelf: MediaShelf

  func add(to group: RouterGroup<APIContext>) {
    group.on(.uploadPicture, use: upload)
    group.on(.issueUploadToken, use: issueToken)
    group.on(.readUpload, use: show)
    group.on(.deleteUpload, use: delete)
  }

  private enum Uploader {
    case account(Int)
    /// An uploader without an account yet.
    case bearer(SessionToken)

    var account: Int? {
      switch self {
      case .account(let id): id
      case .bearer: nil
      }
    }
  }

  @Sendable private func upload(_ request: Request, _ context: APIContext) async throws -> Answer {
    // Unauthorized uploads are refused before a byte is received.
    let uploader = try await uploader(request, context)
    let reception = try await UploadReception(request, of: uploader.account, into: shelf)
    let header: PictureHeader
    do {
      header = try reception.file.header()
    } catch let refusal as PictureRefusal {
      throw Problem(refusal)
    }
    let upload = MediaUpload(hash: reception.hash, bytes: reception.file.count, header: header)
    if try await MediaLibrary.file(hash: upload.hash, in: pool) != nil {
      return try await add(upload, stored: MediaFile(), by: uploader, request)
    }
    let file = MediaFile()
    try await shelf.store.put(reception.file.path, at: file.original, contentType: header.format.contentType)
    do {
      let answer = try await add(upload, stored: file, by: uploader, request)
      try await removeUnlessKept(file, upload)
      return answer
    } catch let refusal as SocialError {
      // After any other error the commit's outcome is unknown; a file without an owner is removed within a day.
      try await removeUnlessKept(file, upload)
      throw refusal
    }
  }

  private func uploader(_ request: Request, _ context: APIContext) async throws -> Uploader {
    if let session = context.session { return .account(session.viewer.id) }
    guard let text = request.headers[.uploadToken] else { return .account(try context.viewer.id) }
    guard let token = SessionToken(text) else { throw UploadTokens.expired }
    if try await UploadTokens.isUsable(token, in: pool) { return .bearer(token) }
    // The answer to the request that used the token may be lost.
    guard let key = try request.idempotencyKey, try await IdempotencyKeys.isAnswered(key, of: 0, in: pool) else {
      throw UploadTokens.expired
    }
    return .bearer(token)
  }

  private func add(_ upload: MediaUpload, stored file: MediaFile, by uploader: Uploader, _ request: Request)
    async throws
    -> Answer
  {
    switch uploader {
    case .account(let account):
      return try await jobs.once(request, saying: upload.hash, by: account) { transaction in
        let media = try await MediaLibrary.add(
          upload, stored: file, by: account, quota: shelf.quota, in: transaction)
        return try Answer(.created, MediaView(media))
      }
    case .bearer(let token):
      return try await jobs.once(request, saying: Array(token.text.utf8) + upload.hash, by: 0) { transaction in
        try await UploadTokens.use(token, in: transaction.sql)
        let media = try await MediaLibrary.add(upload, stored: file, by: nil, quota: shelf.quota, in: transaction)
        return try Answer(.created, MediaView(media))
      }
    }
  }

  /// Another upload may have stored the same bytes a moment earlier.
  private func removeUnlessKept(_ file: MediaFile, _ upload: MediaUpload) async throws {
    guard try await MediaLibrary.file(hash: upload.hash, in: pool) != file else { return }
    try await shelf.store.remove([file.original])
  }

  private struct Token: Encodable {
    let token: String
    /// The lifetime in seconds.
    let expiresIn: Int
  }

  /// Issues a token for one picture upload before sign-up. A repeated request issues another: tokens are not stored.
  @Sendable private func issueToken(_ request: Request, _ context: APIContext) async throws -> Answer {
    let token = try await jobs.transaction { try await UploadTokens.issue(in: $0.sql) }
    return try Answer(.created, Token(token: token.text, expiresIn: UploadTokens.lifetime))
  }

  @Sendable private func show(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    return try Answer(.ok, MediaView(try await MediaLibrary.media(try context.mediaID(), of: viewer.id, in: pool)))
  }

  @Sendable private func delete(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let id = try context.mediaID()
    try await jobs.transaction { try await MediaLibrary.delete(id, of: viewer.id, in: $0) }
    return .noContent
  }
}

extension Problem {
  /// The problem for bytes that are not an accepted picture.
  fileprivate init(_ refusal: PictureRefusal) {
    self.init(
      refusal.code == "unsupported_media" ? .unsupportedMediaType : .unprocessableContent, refusal.code, refusal.message
    )
  }
}

extension APIContext {
  /// - Throws: `not_found` for text that cannot be an id.
  func mediaID() throws -> MediaID {
    guard let id = MediaID(try parameter("id")) else { throw SocialError(.notFound, "there is no such picture") }
    return id
  }
}
