import HTTPTypes
import Hummingbird

extension RouterMethods where Context == APIContext {
  /// Adds the route of a declaration. Every route of the API is added with it, so none lacks an entry in the document.
  ///
  /// A path below `/v1` goes to a group with that prefix, any other to the router.
  @discardableResult
  func on(
    _ operation: APIOperation,
    use handler: @Sendable @escaping (Request, APIContext) async throws -> some ResponseGenerator
  ) -> Self {
    on(RouterPath(operation.path), method: operation.method.httpMethod) { request, context in
      if operation.method == .post { _ = try request.idempotencyKey }
      var response = try operation.response(to: request, with: try await handler(request, context), context)
      operation.deprecation?.announce(in: &response.headers)
      return response
    }
  }
}

extension APIOperation {
  fileprivate func response(
    to request: Request, with answer: some ResponseGenerator, _ context: APIContext
  ) throws -> Response {
    guard isConditional, let answer = answer as? Answer, answer.status == .ok else {
      return try answer.response(from: request, context: context)
    }
    let tag = EntityTag(of: answer.body)
    var response =
      tag.isHeld(by: request)
      ? Response(status: .notModified) : answer.response(from: request, context: context)
    response.headers[.eTag] = tag.text
    // A browser's session leaves nothing on a computer that others use.
    response.headers[.cacheControl] = context.cookieToken == nil ? "private, no-cache" : "no-store"
    return response
  }
}

extension APIOperation.Deprecation {
  /// `Deprecation` (RFC 9745), and a `Link` to the successor.
  func announce(in headers: inout HTTPFields) {
    headers[.deprecation] = "@\(since)"
    headers[.link] = "<\(successor)>; rel=\"successor-version\""
  }
}

extension APIOperation.Method {
  var httpMethod: HTTPRequest.Method {
    switch self {
    case .get: .get
    case .head: .head
    case .post: .post
    case .put: .put
    case .patch: .patch
    case .delete: .delete
    }
  }
}
