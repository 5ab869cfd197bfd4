import HTTPTypes
import Hummingbird
import Social

/// `openapi.json`, and `/docs`: the same for readers. Public.
struct DocumentRoutes: Sendable {
  private static let tag = EntityTag(of: OpenAPIDocument.bytes)
  /// Clients ask again before they use a kept copy: an update of the server changes it.
  private static let caching = "public, no-cache"
  private static let policy =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

  func add(to router: Router<APIContext>) {
    router.group("v1").on(.readDocument, use: document)
    router.on(.showDocs) { _, _ in Self.html(DocumentPage.index) }
    router.on(.showDocsStyle) { _, _ in Self.response("text/css; charset=utf-8", DocumentStyle.css) }
    router.on(.showDocsPage, use: page)
  }

  @Sendable private func document(_ request: Request, _ context: APIContext) async throws -> Response {
    var headers: HTTPFields = [.cacheControl: Self.caching, .eTag: Self.tag.text]
    if Self.tag.isHeld(by: request) { return Response(status: .notModified, headers: headers) }
    headers[.contentType] = "application/json; charset=utf-8"
    return Response(
      status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: OpenAPIDocument.bytes)))
  }

  @Sendable private func page(_ request: Request, _ context: APIContext) async throws -> Response {
    guard let page = DocumentPage.named(try context.parameter("page")) else {
      throw SocialError(.notFound, "there is no such page: /docs lists all")
    }
    return Self.html(page)
  }

  private static func html(_ page: DocumentPage) -> Response { response("text/html; charset=utf-8", page.html) }

  private static func response(_ contentType: String, _ text: String) -> Response {
    Response(
      status: .ok,
      headers: [
        .contentType: contentType, .cacheControl: caching, .contentSecurityPolicy: policy,
        .xContentTypeOptions: "nosniff",
      ],
      body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }
}
