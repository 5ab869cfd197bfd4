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
  /// The payload's fields, for people; nil where nobody can say. A kind that brings a form of its own says so here.
  static var payloadFields: [PayloadField]? { get }

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
  public static var payloadFields: [PayloadField]? { PayloadField.all(of: Self.self) }

  public func encodedPayload() throws -> [UInt8] { try PayloadCoding.encode(self) }

  public init(payload: [UInt8], version: Int) throws { try self.init(json: payload) }

  /// Reads a payload in the usual form, for a kind that reads the versions before this one in another way.
  ///
  /// - Throws: `DecodingError`.
  public init(json payload: [UInt8]) throws { self = try PayloadCoding.decode(Self.self, from: payload) }
}
