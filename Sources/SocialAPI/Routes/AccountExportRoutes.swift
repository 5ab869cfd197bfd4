import DurableJobs
import HTTPTypes
import Hummingbird
import LibPQClient
import Social

/// `me/export` and `account-exports`: all that an account has, as a file for its owner.
struct AccountExportRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool
  let attempts: AttemptBook
  let shelf: MediaShelf
  let sendsMail: Bool

  func add(to group: RouterGroup<APIContext>) {
    group.on(.requestExport, use: request)
    group.on(.fetchExport, use: fetch)
  }

  /// Requests the file. The owner gets a mail with a link once it is made.
  @Sendable private func request(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    guard sendsMail else {
      throw SocialError(
        .mailNotConfigured,
        "this server sends no mail (FANMILL_MAIL_URL is not set): ask its operator, "
          + "`fanmill export account NAME --to FILE`")
    }
    try await AccountExports.allow(viewer.id, from: context.client, attempts: attempts)
    return try await jobs.once(request, saying: [], by: viewer.id) { transaction in
      try await AccountExports.request(viewer.id, in: transaction)
      return Answer(status: .accepted, body: [])
    }
  }

  /// The file, for anyone with the token of a mail.
  @Sendable private func fetch(_ request: Request, _ context: APIContext) async throws -> Response {
    let file = try await AccountExports.file(
      of: try context.parameter("token"), from: context.client, attempts: attempts, in: pool)
    var headers: HTTPFields = [.cacheControl: "no-store", .xContentTypeOptions: "nosniff"]
    switch try await shelf.store.source(of: file.archive) {
    case .redirect(let url):
      headers[.location] = url
      return Response(status: .found, headers: headers)
    case .file(let path, _):
      headers[.contentType] = "application/zip"
      headers[.contentDisposition] = "attachment; filename=\"account.zip\""
      return try PictureRoutes.answer(request, path, EntityTag("\(file.id)"), headers)
    }
  }
}
