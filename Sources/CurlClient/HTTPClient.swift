internal import CCurl
import HTTPTypes
import Logging
import Reactor

/// An HTTP client for HTTP/1.1 and HTTP/2 on libcurl, whose connections live on an event loop and are used again.
///
/// Certificates are always verified. Responses are decompressed; a proxy is taken from the environment, as libcurl does
/// (`https_proxy`, `no_proxy` and so on). Redirects are followed to `https` only; the fields `Authorization` and
/// `Cookie` do not go to another host then, but others do, so a key belongs into one of these or into the query.
///
/// libcurl sends a request again by itself when it met a kept connection that the server had just closed, before a byte
/// of an answer. Nothing else is sent twice.
public final class HTTPClient: Sendable {
  public let configuration: HTTPClientConfiguration
  let transfers: HTTPTransfers

  /// - Parameter loop: what the client's connections live on; it has to be stopped after the client was closed.
  /// - Throws: `.unsupported` where libcurl is too old, or would look names up on the loop and hold it up.
  public init(configuration: HTTPClientConfiguration, loop: EventLoop, logger: Logger) throws(HTTPClientError) {
    guard let library = libcurl else { throw HTTPClientError(.unsupported, "libcurl cannot be initialised") }
    guard library.looksNamesUpAside else {
      throw HTTPClientError(.unsupported, "libcurl \(library.version) has no resolver that works beside its caller")
    }
    if !library.hasHTTP2 { logger.notice("this libcurl has no HTTP/2", metadata: ["version": "\(library.version)"]) }
    self.configuration = configuration
    transfers = HTTPTransfers(configuration, loop: loop)
  }

  /// Sends a request and waits for the whole response.
  ///
  /// A cancelled task gets `.cancelled` at once, and the request's connection is given up or used for others.
  ///
  /// - Parameter body: not with GET and HEAD; the content type is the caller's to set.
  /// - Returns: the response to the last of the requests where there were redirects, and its body, decompressed. Where
  ///   it was compressed, the fields `Content-Encoding` and `Content-Length` are left out.
  public nonisolated(nonsending) func send(
    _ request: HTTPRequest, body: [UInt8] = []
  ) async throws(HTTPClientError) -> (HTTPResponse, [UInt8]) {
    let call = try HTTPCall(request, body: body, userAgent: configuration.userAgent)
    let transfer = HTTPTransfer(call, configuration)
    try await transfers.perform(transfer)
    return try transfer.response()
  }

  /// Sends a request whose body is a file, which is read as it leaves, and waits for the whole response.
  ///
  /// The file's bytes are read on the loop's thread: it is one of a local disk.
  ///
  /// - Parameter path: of a regular file, which nobody makes shorter meanwhile.
  /// - Returns: as `send` does.
  /// - Throws: also `.file`.
  public nonisolated(nonsending) func upload(
    _ request: HTTPRequest, from path: String
  ) async throws(HTTPClientError) -> (HTTPResponse, [UInt8]) {
    let call = try HTTPCall(request, body: [], isUpload: true, userAgent: configuration.userAgent)
    let transfer = HTTPTransfer(call, configuration, upload: try UploadFile(path, name: call.name))
    try await transfers.perform(transfer)
    return try transfer.response()
  }

  /// Sends a request and writes the body of its response into a file as it comes.
  ///
  /// The file appears when the body is whole; one that is there is replaced then. A status other than 2xx leaves it as
  /// it is. The bytes are written on the loop's thread: it is one of a local disk.
  ///
  /// - Parameter limit: the largest body that is taken, in bytes after decompression, instead of `maximumBodyBytes`.
  /// - Returns: the response; its body where the status is not 2xx, else nothing.
  /// - Throws: also `.file` and `.diskFull`.
  public nonisolated(nonsending) func download(
    _ request: HTTPRequest, to path: String, limit: Int
  ) async throws(HTTPClientError) -> (HTTPResponse, [UInt8]) {
    let call = try HTTPCall(request, body: [], userAgent: configuration.userAgent)
    let file = try DownloadFile(path, limit: limit, name: call.name)
    // Before the caller goes on: the loop may hold the transfer, and with it the file, a moment longer.
    defer { file.discard() }
    let transfer = HTTPTransfer(call, configuration, download: file)
    try await transfers.perform(transfer)
    let (response, body) = try transfer.response()
    if response.status.kind == .successful { try file.keep() }
    return (response, body)
  }

  /// Closes all connections. What is under way fails with `.closed`, and so does whatever is sent later.
  public func close() async {
    await transfers.close()
  }
}

/// What is known of the library, once it is initialised; nil if it cannot be.
private let libcurl: LibcurlVersion? = {
  guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let info = curl_version_info(CURLVERSION_FIRST) else {
    return nil
  }
  let features = info.pointee.features
  return LibcurlVersion(
    version: String(cString: info.pointee.version), looksNamesUpAside: features & CURL_VERSION_ASYNCHDNS != 0,
    hasHTTP2: features & CURL_VERSION_HTTP2 != 0)
}()

private struct LibcurlVersion: Sendable {
  let version: String
  let looksNamesUpAside: Bool
  let hasHTTP2: Bool
}
