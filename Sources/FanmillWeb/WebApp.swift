import HTTPTypes
import Hummingbird

/// The web client: its files, and one page for the addresses of its screens. It uses nothing but the public API.
public enum WebApp {
  /// The first part of each screen's address. None is a route of the API or the program.
  static let screens = [
    "following", "likes", "new", "p", "u", "search", "notifications", "messages", "fans", "rankings", "c", "agreements",
    "settings", "signin", "signup", "reset", "confirm", "delete",
  ]

  /// Scripts and styles from here only, none of them inline; no frame may show the client.
  ///
  /// `blob:` and `data:` show pictures that are not uploaded yet.
  static let policy = [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob: data:", "connect-src 'self'",
    "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
  ].joined(separator: "; ")

  /// Adds the client's routes, and its page for addresses that lead nowhere.
  public static func addRoutes<Context: RequestContext>(to router: Router<Context>) {
    router.add(middleware: MissingPage())
    for file in WebFile.all {
      router.get("/\(file.name)") { request, _ in file.response(to: request) }
    }
    for path in ["/"] + screens.flatMap({ ["/\($0)", "/\($0)/**"] }) {
      router.get(RouterPath(path)) { request, _ in WebFile.page.response(to: request) }
    }
  }
}

/// Shows browsers the client's page where there is nothing. Other clients keep the API's answer.
private struct MissingPage<Context: RequestContext>: RouterMiddleware {
  private let others: Set<Substring> = ["v1", "media", "admin", "docs", ".well-known"]

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let response = try await next(request, context)
    guard response.status == .notFound, request.method == .get,
      request.headers[.accept]?.contains("text/html") == true,
      request.uri.path.split(separator: "/").first.map({ !others.contains($0) }) ?? true
    else { return response }
    // A 404 is not kept, so nobody holds it.
    var page = WebFile.page.response()
    page.status = .notFound
    page.headers[.cacheControl] = "no-store"
    return page
  }
}

extension WebFile {
  /// - Parameter request: nil to answer whole, whatever the client holds.
  func response(to request: Request? = nil) -> Response {
    // Clients ask again before they use a kept copy: an update of the server changes it.
    var headers: HTTPFields = [
      .cacheControl: "no-cache", .eTag: tag, .contentSecurityPolicy: WebApp.policy, .xContentTypeOptions: "nosniff",
    ]
    for (name, value) in [
      ("Referrer-Policy", "same-origin"), ("Permissions-Policy", "geolocation=(self), camera=(), microphone=()"),
    ] {
      if let name = HTTPField.Name(name) { headers[name] = value }
    }
    if request?.headers[.ifNoneMatch] == tag { return Response(status: .notModified, headers: headers) }
    headers[.contentType] = type
    return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }
}
