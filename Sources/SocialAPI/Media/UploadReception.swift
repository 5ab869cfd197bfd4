import Cryptography
import HTTPTypes
import Hummingbird
import Reactor
import Social

/// Receives an upload into a file: the body itself, or the only file of a multipart body. Holds no more in memory than
/// the bytes that arrive at once.
struct UploadReception: ~Copyable {
  /// In bytes.
  static let maxBytes = 10_000_000
  /// The room for a multipart body's boundaries and part header.
  private static let maxEnvelope = 16_384
  /// The most bytes to receive of a body that is too large.
  private static let maxDiscarded = 40_000_000

  let file: IncomingFile
  /// SHA-256 of the file's bytes.
  let hash: [UInt8]

  /// - Parameter account: the uploading account; nil if the uploader has none yet.
  /// - Throws: `body_too_large`, `malformed_body`, `empty_body`, `storage_full`.
  init(_ request: Request, of account: Int?, into shelf: MediaShelf) async throws {
    // Time spent on a slow client does not count against the deadline for servers.
    let begun = ContinuousClock.now
    defer { Deadline.current?.extend(by: .now - begun) }
    do {
      try await self.init(receiving: request, account, shelf)
    } catch let error as MultipartFile.Malformed {
      throw Problem(.badRequest, "malformed_body", "the multipart body cannot be read: \(error)")
    } catch let error as IncomingFile.Failure where error.isFull {
      throw Problem(
        HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage"), "storage_full",
        "picture storage is full: try again later",
        retryAfter: 60)
    }
  }

  private init(receiving request: Request, _ account: Int?, _ shelf: MediaShelf) async throws {
    let type = request.headers[.contentType] ?? ""
    var multipart: MultipartFile? =
      if type.lowercased().hasPrefix("multipart/form-data") { try MultipartFile(contentType: type) } else { nil }
    let limit = Self.maxBytes + (multipart == nil ? 0 : Self.maxEnvelope)
    if let announced = request.headers[.contentLength].flatMap(Int.init), announced > Self.maxDiscarded {
      throw Self.tooLarge
    }
    var file = try IncomingFile(in: shelf.incoming)
    let turn = shelf.line.begin(for: account)
    var digest = SHA256Hasher()
    var received = 0
    for try await buffer in request.body {
      received += buffer.readableBytes
      // A client that is still sending reads no response, so a slightly oversized body is received and discarded.
      guard received <= limit else {
        if received > Self.maxDiscarded { throw Self.tooLarge }
        continue
      }
      if multipart != nil {
        let part = try multipart?.take(buffer.readableBytesView) ?? []
        try part.withUnsafeBytes { try Self.keep($0, in: &file, &digest) }
      } else {
        try buffer.withUnsafeReadableBytes { try Self.keep($0, in: &file, &digest) }
      }
      try await file.writeBack(through: shelf.line, as: turn)
    }
    if received > limit { throw Self.tooLarge }
    if multipart?.isComplete == false {
      throw Problem(.badRequest, "malformed_body", "the multipart body ends before its last boundary")
    }
    guard file.count > 0 else {
      throw Problem(
        .unprocessableContent, "empty_body", "send a picture's bytes as the body, or one file as multipart/form-data")
    }
    self.file = file
    hash = digest.digest()
  }

  private static func keep(
    _ bytes: UnsafeRawBufferPointer, in file: inout IncomingFile, _ digest: inout SHA256Hasher
  ) throws {
    guard file.count + bytes.count <= maxBytes else { throw tooLarge }
    digest.update(bytes)
    try file.append(bytes)
  }

  private static let tooLarge = Problem(.contentTooLarge, "body_too_large", "a picture may have at most 10 MB")
}
