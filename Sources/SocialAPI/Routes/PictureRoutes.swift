import Glibc
import HTTPTypes
import Hummingbird
import LibPQClient
import Social

/// `/media/ID/SIZE`: pictures, for anyone with their id. No session is required: browsers send none for a picture, and
/// an id cannot be guessed.
struct PictureRoutes: Sendable {
  let pool: PostgresPool
  let shelf: MediaShelf

  func add(to router: Router<APIContext>) {
    router.on(.showPicture, use: show)
    router.on(.showPictureHead, use: show)
  }

  @Sendable private func show(_ request: Request, _ context: APIContext) async throws -> Response {
    guard let size = PictureSize(rawValue: try context.parameter("size")) else {
      throw SocialError(.notFound, "a picture's sizes are thumb, feed and full")
    }
    let (file, isReady) = try await MediaLibrary.source(of: try context.mediaID(), in: pool)
    guard isReady else {
      return Response(status: .accepted, headers: [.retryAfter: "1", .cacheControl: "no-store"])
    }
    let encoding = Self.encoding(accepted: request.headers[.accept])
    var headers: HTTPFields = [
      .vary: "Accept", .xContentTypeOptions: "nosniff", .contentSecurityPolicy: "default-src 'none'; sandbox",
    ]
    switch try await shelf.store.source(of: file.key(size, encoding)) {
    case .redirect(let url):
      // Shorter than the address's lifetime.
      headers[.cacheControl] = "private, max-age=600"
      headers[.location] = url
      return Response(status: .found, headers: headers)
    case .file(let path, _):
      headers[.cacheControl] = "public, max-age=31536000, immutable"
      headers[.contentType] = encoding.contentType
      let tag = EntityTag("\(file.id)-\(size.rawValue).\(encoding.fileExtension)")
      return try Self.answer(request, path, tag, headers)
    }
  }

  /// WebP for clients that accept it, JPEG otherwise.
  private static func encoding(accepted: String?) -> PictureEncoding {
    for entry in accepted?.lowercased().split(separator: ",") ?? [] {
      let parts = entry.split(separator: ";").map { $0.filter { $0 != " " } }
      guard parts.first == "image/webp" else { continue }
      return parts.contains { $0 == "q=0" || $0 == "q=0.0" || $0 == "q=0.00" || $0 == "q=0.000" } ? .jpeg : .webp
    }
    return .jpeg
  }

  /// The file, or the part of it that the client asks for.
  static func answer(
    _ request: Request, _ path: String, _ tag: EntityTag, _ headers: HTTPFields
  ) throws -> Response {
    var headers = headers
    headers[.eTag] = tag.text
    if tag.isHeld(by: request) {
      headers[.contentType] = nil
      return Response(status: .notModified, headers: headers)
    }
    let file = try OpenFile(path)
    headers[.acceptRanges] = "bytes"
    // A range is useless to a client that holds the rest of a different picture.
    let isSame = request.headers[.ifRange].map { $0 == tag.text } ?? true
    switch isSame ? ByteRange(request.headers[.range], of: file.count) : .whole {
    case .whole:
      return Response(status: .ok, headers: headers, body: file.body(0..<file.count, for: request))
    case .part(let range):
      headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.count)"
      return Response(status: .partialContent, headers: headers, body: file.body(range, for: request))
    case .unsatisfiable:
      return Response(
        status: .rangeNotSatisfiable,
        headers: [.contentRange: "bytes */\(file.count)", .acceptRanges: "bytes", .cacheControl: "no-store"])
    }
  }
}

/// A file being sent. It is closed with its last reference.
private final class OpenFile: Sendable {
  private static let chunk = 65_536

  let count: Int
  private let descriptor: Int32

  init(_ path: String) throws {
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw IncomingFile.Failure(what: "a picture cannot be read", number: errno) }
    count = lseek(descriptor, 0, SEEK_END)
    guard count >= 0 else {
      let number = errno
      close(descriptor)
      throw IncomingFile.Failure(what: "a picture cannot be read", number: number)
    }
  }

  deinit { close(descriptor) }

  /// A part of the file, read chunk by chunk as the client takes it.
  func body(_ range: Range<Int>, for request: Request) -> ResponseBody {
    guard request.method != .head else { return ResponseBody(contentLength: range.count) { try await $0.finish(nil) } }
    return ResponseBody(contentLength: range.count) { [self] writer in
      var position = range.lowerBound
      while position < range.upperBound {
        var buffer = ByteBuffer()
        let wanted = min(Self.chunk, range.upperBound - position)
        let read = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { bytes in
          max(0, pread(descriptor, bytes.baseAddress, wanted, position))
        }
        // The headers promised more bytes: only closing the connection signals the error.
        guard read > 0 else { throw IncomingFile.Failure(what: "a picture cannot be read", number: errno) }
        try await writer.write(buffer)
        position += read
      }
      try await writer.finish(nil)
    }
  }
}
