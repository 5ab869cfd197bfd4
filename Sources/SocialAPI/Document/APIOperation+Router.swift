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
    on(RouterPath(operation.path), method: operation.method.httpMethod, use: handler)
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
