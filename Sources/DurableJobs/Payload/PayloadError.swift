/// A payload that does not decode. The job is at fault, not the worker, so it is never retried.
public struct PayloadError: Error, CustomStringConvertible {
  /// The job's kind.
  public let kind: JobKind
  /// Which field is wrong and what was expected. Never contains the value.
  public let problem: String

  public init(kind: JobKind, underlying error: any Error) {
    self.kind = kind
    problem =
      switch error as? DecodingError {
      case .keyNotFound(let key, let context): "field '\(Self.path(context, key))' is missing"
      case .typeMismatch(let type, let context): "field '\(Self.path(context))' is not \(Self.article(type))"
      case .valueNotFound(let type, let context):
        "field '\(Self.path(context))' is null instead of \(Self.article(type))"
      case .dataCorrupted(let context):
        // Foundation reports a number too large for its field the same way, without a path.
        context.codingPath.isEmpty
          ? "it is not valid JSON, or a number in it does not fit its field"
          : "field '\(Self.path(context))' has an invalid value"
      default: "\(error)"
      }
  }

  public var description: String { "the payload of \(kind) does not decode: \(problem)" }

  private static func path(_ context: DecodingError.Context, _ key: (any CodingKey)? = nil) -> String {
    let path = (context.codingPath + (key.map { [$0] } ?? [])).map { $0.intValue.map(String.init) ?? $0.stringValue }
    return path.isEmpty ? "(the whole payload)" : path.joined(separator: ".")
  }

  private static func article(_ type: any Any.Type) -> String {
    switch type {
    case is any BinaryInteger.Type: "an integer"
    case is any BinaryFloatingPoint.Type: "a number"
    case is String.Type: "a string"
    case is Bool.Type: "true or false"
    case is [Any].Type: "an array"
    case is [String: Any].Type: "an object"
    default: "a \(type)"
    }
  }
}
