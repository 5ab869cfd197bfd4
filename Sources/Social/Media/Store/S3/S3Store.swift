import Cryptography
import CurlClient
import DurableJobs
import Foundation
import HTTPTypes

/// A store in a bucket of S3, or of another store with the same protocol.
///
/// Requests that fail because a store is unreachable or busy are signed again and retried: every request here may be
/// sent twice.
public struct S3Store: MediaStore {
  /// How many times a request is sent at most.
  private static let attempts = 4
  private static let pauses = RetryPolicy(base: .milliseconds(200), cap: .seconds(2))
  /// How many objects are removed concurrently.
  private static let removals = 8
  /// How many seconds a signed URL is valid.
  private static let validity = 900

  private let address: S3Address
  private let client: HTTPClient
  private let limit: Int
  private let now: @Sendable () -> Date
  private let threads = DiskThreads(count: 4)

  /// The configuration for the client: an account's archive may have 4 GB, and the operator should see redirects. A store
  /// that stops answering still ends a transfer after `stallTimeout`.
  public static var configuration: HTTPClientConfiguration {
    var configuration = HTTPClientConfiguration()
    configuration.timeout = .seconds(1800)
    configuration.maximumRedirects = 0
    return configuration
  }

  /// - Parameters:
  ///   - client: configured as `configuration`; the caller closes it.
  ///   - limit: the largest object that can be fetched, in bytes.
  ///   - now: the clock for signatures; a store refuses a time that is 15 minutes off.
  public init(
    _ address: S3Address, client: HTTPClient, limit: Int = 1 << 30, now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.address = address
    self.client = client
    self.limit = limit
    self.now = now
  }

  // MARK: MediaStore

  public func put(_ path: String, at key: MediaKey, contentType: String) async throws {
    let digest = try await threads.run { try FileDigest.sha256(of: path) }
    var request = request(.put, "\(key)")
    request.fields[.contentType] = contentType
    let (response, body) = try await exchange(request, payload: digest) { request throws(HTTPClientError) in
      try await client.upload(request, from: path)
    }
    try expectSuccess(response, body, .put)
  }

  public func fetch(_ key: MediaKey, to path: String) async throws {
    let (response, body) = try await exchange(request(.get, "\(key)")) { request throws(HTTPClientError) in
      try await client.download(request, to: path, limit: limit)
    }
    if isMissing(response, body) { throw MediaStoreError.missing(key, in: address.name) }
    try expectSuccess(response, body, .get)
  }

  public func remove(_ keys: [MediaKey]) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      var rest = keys[...]
      for key in rest.prefix(Self.removals) { group.addTask { try await remove("\(key)") } }
      rest = rest.dropFirst(Self.removals)
      while try await group.next() != nil {
        if let key = rest.popFirst() { group.addTask { try await remove("\(key)") } }
      }
    }
  }

  public func objects(after key: MediaKey?) async throws -> [StoredObject] {
    var start = key.map { ("start-after", "\(address.prefix)\($0)") }
    while true {
      let listing = try await page(start)
      let objects = listing.entries.compactMap { entry -> StoredObject? in
        guard let key = MediaKey(String(entry.key.dropFirst(address.prefix.count))) else { return nil }
        return StoredObject(key: key, bytes: entry.bytes, modified: entry.modified)
      }
      // A page may contain only foreign objects.
      guard objects.isEmpty, let next = listing.next else { return objects }
      start = ("continuation-token", next)
    }
  }

  public func source(of key: MediaKey) async throws -> MediaSource {
    var request = request(.get, "\(key)")
    request.query.append(("response-cache-control", "private, max-age=\(Self.validity), immutable"))
    return .redirect(url: signature.presigned(request, at: now(), for: Self.validity).url)
  }

  public func check() async throws {
    let name = "fanmill-check-\(String(UInt64.random(in: 0...(.max)), radix: 16))"
    let bytes = Array(name.utf8)
    let digest = SHA256.hash(of: bytes).hexadecimal
    let (stored, answer) = try await exchange(request(.put, name), payload: digest) { request throws(HTTPClientError) in
      try await client.send(request, body: bytes)
    }
    try expectSuccess(stored, answer, .put)
    let (read, body) = try await exchange(request(.get, name), sendPlainly)
    // Removed before the checks, whatever was read.
    try await remove(name)
    try expectSuccess(read, body, .get)
    guard body == bytes else {
      throw MediaStoreError(.malformed, "\(address.name) returns different bytes from those written: check the store")
    }
  }

  // MARK: Requests

  private var signature: AWSSignature { AWSSignature(credentials: address.credentials, region: address.region) }

  /// - Parameter name: of an object, below the prefix; nil for the bucket.
  private func request(_ operation: S3Operation, _ name: String?) -> AWSRequest {
    let object = name.map { address.prefix + $0 } ?? ""
    let isVirtual = address.style == .virtual
    return AWSRequest(
      method: operation.method, scheme: address.scheme,
      authority: isVirtual ? "\(address.bucket).\(address.server)" : address.server,
      path: isVirtual ? "/\(object)" : "/\(address.bucket)\(name == nil ? "" : "/\(object)")")
  }

  private func remove(_ name: String) async throws {
    let (response, body) = try await exchange(request(.delete, name), sendPlainly)
    if !isMissing(response, body) { try expectSuccess(response, body, .delete) }
  }

  private func page(_ start: (name: String, value: String)?) async throws -> S3Listing {
    var request = request(.list, nil)
    request.query = [("list-type", "2"), ("max-keys", String(MediaStorePaging.limit))]
    if !address.prefix.isEmpty { request.query.append(("prefix", address.prefix)) }
    if let start { request.query.append(start) }
    let (response, body) = try await exchange(request, sendPlainly)
    try expectSuccess(response, body, .list)
    guard let listing = S3Listing(body) else {
      throw MediaStoreError(
        .malformed, "\(address.name) returned a listing that is not S3's: check the host in FANMILL_MEDIA_URL")
    }
    return listing
  }

  private func sendPlainly(_ request: HTTPRequest) async throws(HTTPClientError) -> (HTTPResponse, [UInt8]) {
    try await client.send(request)
  }

  /// Sends a request, and retries while the response only asks to try again.
  private func exchange(
    _ request: AWSRequest, payload: String = AWSSignature.emptyPayload,
    _ send: (HTTPRequest) async throws(HTTPClientError) -> (HTTPResponse, [UInt8])
  ) async throws -> (HTTPResponse, [UInt8]) {
    var generator = SystemRandomNumberGenerator()
    var attempt = 0
    while true {
      attempt += 1
      let isLast = attempt == Self.attempts
      do throws(HTTPClientError) {
        let (response, body) = try await send(signature.signed(request, payload: payload, at: now()).http)
        if isLast || response.status.kind == .successful || !S3Refusal(response, body).isPassing {
          return (response, body)
        }
      } catch {
        if error.code == .cancelled { throw CancellationError() }
        if isLast || !Self.isPassing(error) { throw MediaStoreError(error, address) }
      }
      try await Task.sleep(for: Self.pauses.delay(afterAttempt: attempt, using: &generator))
    }
  }

  private static func isPassing(_ error: HTTPClientError) -> Bool {
    [.connection, .nameNotResolved, .timeout, .stalled, .transfer].contains(error.code)
  }

  // MARK: Responses

  private func expectSuccess(_ response: HTTPResponse, _ body: [UInt8], _ operation: S3Operation) throws {
    if response.status.kind == .successful { return }
    throw MediaStoreError(S3Refusal(response, body), operation, address)
  }

  private func isMissing(_ response: HTTPResponse, _ body: [UInt8]) -> Bool {
    response.status == .notFound && [nil, "NoSuchKey"].contains(S3Refusal(response, body).code)
  }
}
