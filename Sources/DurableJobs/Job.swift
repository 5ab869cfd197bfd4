/// A unit of work, described by its payload: a small `Codable` struct that says what to do, not how.
///
/// ```swift
/// struct SendWelcome: Job {
///   static let kind: JobKind = "accounts.welcome"
///   var account: Int
/// }
/// ```
public protocol Job: Codable, Sendable {
  /// The name by which every process knows this type. It outlives deploys: you may rename the type, but keep the kind.
  static var kind: JobKind { get }
  /// The queue for jobs of this kind, unless the enqueuer names another.
  static var queue: QueueName { get }
  /// Raise it with a change that an older worker would misread; workers park payloads newer than they know.
  static var payloadVersion: Int { get }
  /// The number of attempts and the pauses between them.
  static var retry: RetryPolicy { get }
  /// How long a handler may run before it is cancelled and counted as failed; nil for no limit.
  static var timeout: Duration? { get }
  /// The payload's fields, for people; nil if unknown. A kind with a custom encoding lists its fields here.
  static var payloadFields: [PayloadField]? { get }

  /// The payload as UTF-8 text: JSON, unless a hot kind has a custom encoding.
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

  /// Decodes a JSON payload, for a kind that reads its older versions another way.
  ///
  /// - Throws: `DecodingError`.
  public init(json payload: [UInt8]) throws { self = try PayloadCoding.decode(Self.self, from: payload) }
}
