#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A piece of work, as its payload: a small `Codable` struct that says what to do, not how.
///
/// ```swift
/// struct SendWelcome: Job {
///   static let kind: JobKind = "accounts.welcome"
///   var account: Int
/// }
/// ```
public protocol Job: Codable, Sendable {
  /// The name under which every process knows this type. It outlives deploys: rename the type, keep the kind.
  static var kind: JobKind { get }
  /// Where jobs of this kind wait unless the enqueuer says otherwise.
  static var queue: QueueName { get }
  /// Raise it with a change that an older worker would misread; an older worker parks what is newer than it knows.
  static var payloadVersion: Int { get }
  /// How often, and after what pauses, a failed job is tried again.
  static var retry: RetryPolicy { get }
  /// How long a handler may run before it is cancelled and counted as failed; nil for no limit.
  static var timeout: Duration? { get }

  /// The payload as UTF-8 text. JSON, unless a kind is so hot that it brings a form of its own.
  func encodedPayload() throws -> [UInt8]
  /// Reads what `encodedPayload` wrote, in this version or an older one.
  init(payload: [UInt8], version: Int) throws
}

extension Job {
  public static var queue: QueueName { .default }
  public static var payloadVersion: Int { 1 }
  public static var retry: RetryPolicy { RetryPolicy() }
  public static var timeout: Duration? { .seconds(300) }

  public func encodedPayload() throws -> [UInt8] { Array(try PayloadCoders.encoder.encode(self)) }

  public init(payload: [UInt8], version: Int) throws {
    self = try PayloadCoders.decoder.decode(Self.self, from: Data(payload))
  }
}

private enum PayloadCoders {
  static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return encoder
  }()
  static let decoder: JSONDecoder = {
    let decoder = JSONDecoder()
    // As `.iso8601` reads it, but with the field in its error.
    decoder.dateDecodingStrategy = .custom { decoder in
      let text = try decoder.singleValueContainer().decode(String.self)
      do {
        return try Date(text, strategy: .iso8601)
      } catch {
        throw DecodingError.dataCorrupted(
          DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "not a date", underlyingError: error))
      }
    }
    return decoder
  }()
}

/// A payload that its kind cannot read: the job's fault, not the worker's, so it is never retried.
public struct PayloadError: Error, CustomStringConvertible {
  public let kind: JobKind
  /// Which field is wrong and what was expected there. Never the value that was found.
  public let problem: String

  public init(kind: JobKind, underlying error: any Error) {
    self.kind = kind
    problem =
      switch error as? DecodingError {
      case .keyNotFound(let key, let context): "field '\(Self.path(context, key))' is missing"
      case .typeMismatch(let type, let context): "field '\(Self.path(context))' is not \(Self.article(type))"
      case .valueNotFound(let type, let context):
        "field '\(Self.path(context))' is null where \(Self.article(type)) belongs"
      case .dataCorrupted(let context):
        // Foundation says the same, without a path, of a number that is too large for its field.
        context.codingPath.isEmpty
          ? "it is not valid JSON, or a number in it does not fit its field"
          : "field '\(Self.path(context))' holds a value that does not belong there"
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
