#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Hummingbird
import Reactor

/// A request's complete body.
struct RequestBody: Sendable {
  let bytes: [UInt8]

  /// - Throws: an error of status 413 for a body above the context's limit.
  init(_ request: Request, _ context: APIContext) async throws {
    // Time spent on a slow client does not count against the deadline for servers.
    let begun = ContinuousClock.now
    defer { Deadline.current?.extend(by: .now - begun) }
    let buffer = try await request.body.collect(upTo: context.maxUploadSize)
    bytes = Array(buffer.readableBytesView)
  }

  /// The body as JSON.
  ///
  /// - Throws: `Problem` of code `malformed_body` for invalid JSON, `invalid_FIELD` for a field that is missing or has
  ///   another type.
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    do {
      return try JSONDecoder().decode(type, from: Data(bytes))
    } catch let error as DecodingError {
      throw Problem(error)
    }
  }
}

extension Problem {
  fileprivate init(_ error: DecodingError) {
    let (path, what): ([any CodingKey], String) =
      switch error {
      case .keyNotFound(let key, let context): (context.codingPath + [key], "is missing")
      case .valueNotFound(_, let context): (context.codingPath, "cannot be null")
      case .typeMismatch(let type, let context): (context.codingPath, "is not \(Self.article(type))")
      case .dataCorrupted(let context): (context.codingPath, "is not valid")
      @unknown default: ([], "is not valid")
      }
    guard !path.isEmpty else {
      self.init(.badRequest, "malformed_body", "the body must be a JSON object in UTF-8")
      return
    }
    let field = path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    // The code of an element is the list's, so that codes are a closed set.
    self.init(.unprocessableContent, "invalid_\(path[0].stringValue)", "\(field) \(what)", field: field)
  }

  private static func article(_ type: any Any.Type) -> String {
    switch type {
    case is any BinaryInteger.Type: "a whole number"
    case is String.Type: "a string"
    case is Bool.Type: "true or false"
    case is any BinaryFloatingPoint.Type: "a number"
    case is [Any].Type: "a list"
    default: "an object"
    }
  }
}
