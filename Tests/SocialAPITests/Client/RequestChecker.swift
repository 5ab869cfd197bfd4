import Foundation

@testable import FanmillClient
@testable import SocialAPI

/// Compares a request of the client with the declaration of its operation.
struct RequestChecker {
  /// Headers that any request may have.
  private static let general: Set<String> = ["Accept", "Authorization", "Content-Type", "User-Agent"]

  let operation: APIOperation
  let request: TransportRequest

  /// What the document does not allow.
  var violations: [String] {
    let found = DocumentChecker.operation(request.method, path)
    guard found?.id == operation.id else { return ["\(request.method) \(path) is \(found?.id ?? "no operation")"] }
    return places + queries + headers + access + content
  }

  /// The names of the query parameters, headers and fields that the request has.
  var names: Set<String> {
    var names = Set(query.map(\.name)).union(request.headers.keys)
    if case .object(let fields) = body { names.formUnion(fields.keys) }
    return names
  }

  /// The names that the operation declares.
  static func declared(_ operation: APIOperation) -> Set<String> {
    let parameters = operation.parameters.filter { $0.place != .path } + operation.headers
    return Set(parameters.map(\.name)).union(operation.body?.schema.properties.map(\.name) ?? [])
  }

  // MARK: Parts

  /// As it is sent, percent-encoded.
  private var path: String {
    URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.percentEncodedPath ?? ""
  }

  private var query: [URLQueryItem] {
    URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
  }

  private var places: [String] {
    zip(operation.fullPath.split(separator: "/"), path.split(separator: "/")).flatMap { form, text -> [String] in
      guard form.hasPrefix("{") else { return [] }
      return check(String(form.dropFirst().dropLast()), String(text).removingPercentEncoding ?? "", .path)
    }
  }

  private var queries: [String] { query.flatMap { check($0.name, $0.value ?? "", .query) } }

  private var headers: [String] {
    let declared = Set(operation.headers.map(\.name))
    return request.headers.flatMap { name, value -> [String] in
      guard declared.contains(name) else {
        return Self.general.contains(name) ? [] : ["the header \(name) is not declared"]
      }
      return name == "Idempotency-Key" ? check(value, .idempotencyKey) : check(name, value, .header)
    }
  }

  private var access: [String] {
    let isSignedIn = request.headers["Authorization"] != nil
    switch operation.access {
    case .session: return isSignedIn ? [] : ["the session is missing"]
    case .uploader: return isSignedIn || request.headers["Upload-Token"] != nil ? [] : ["nothing says who uploads"]
    case .operators, .admin: return ["the route is for operators"]
    // These may be redirected to a bucket, which must not get the session.
    case .none: return isSignedIn && operation.path.hasPrefix("/") ? ["the session is sent needlessly"] : []
    }
  }

  private var content: [String] {
    guard let declared = operation.body else { return request.body == nil ? [] : ["the body is not declared"] }
    guard request.body != nil else { return ["the body is missing"] }
    guard declared.contentType == "application/json" else { return [] }
    guard request.headers["Content-Type"] == "application/json" else { return ["the Content-Type is not JSON"] }
    guard let body else { return ["the body is not JSON"] }
    return SchemaValidator(acceptsNull: true).violations(body, declared.schema.json, at: "body")
  }

  private var body: JSONValue? {
    // Bytes of a picture are no error.
    request.body.flatMap { try? JSONValue(bytes: Array($0)) }
  }

  // MARK: Values

  private func check(_ name: String, _ text: String, _ place: APIOperation.Parameter.Place) -> [String] {
    guard let parameter = operation.parameters.first(where: { $0.place == place && $0.name == name }) else {
      return ["the parameter \(name) is not declared"]
    }
    return check(text, parameter)
  }

  private func check(_ text: String, _ parameter: APIOperation.Parameter) -> [String] {
    let value: JSONValue =
      switch parameter.schema.form {
      case .integer: Int64(text).map { JSONValue.integer($0) } ?? .string(text)
      case .boolean where ["true", "false"].contains(text): .bool(text == "true")
      default: .string(text)
      }
    return SchemaValidator().violations(value, parameter.schema.json, at: parameter.name)
  }
}
