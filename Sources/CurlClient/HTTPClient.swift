internal import CCurl
import HTTPTypes
import Logging
import Reactor

/// A client for HTTP/1.1 and HTTP/2 on libcurl, with connections that live on an event loop and are reused.
///
/// Certificates are always verified. Responses are decompressed; a proxy is taken from the environment, as libcurl does
/// (`https_proxy`, `no_proxy` and so on). Redirects are followed only to `https`. The fields `Authorization` and
/// `Cookie` are then not sent to another host, but other fields are, so a key belongs in one of these or in the query.
///
/// libcurl resends a request if it used a kept connection that the server had just closed, before a byte of a response.
/// Nothing else is sent twice.
public final class HTTPClient: Sendable {
  public let configuration: HTTPClientConfiguration
  let transfers: HTTPTransfers

  /// - Parameter loop: the loop of the client's connections; stop it only after closing the client.
  /// - Throws: `.unsupported` if libcurl is too old, or would resolve names on the loop and block it.
  public init(configuration: HTTPClientConfiguration, loop: EventLoop, logger: Logger) throws(HTTPClientError) {
    guard let library = libcurl else { throw HTTPClientError(.unsupported, "libcurl cannot be initialised") }
    guard library.resolvesInBackground else {
      throw HTTPClientError(.unsupported, "libcurl \(library.version) has no asynchronous resolver")
    }
    if !library.hasHTTP2 { logger.notice("this libcurl lacks HTTP/2", metadata: ["version": "\(library.version)"]) }
    self.configuration = configuration
    transfers = HTTPTransfers(configuration, loop: loop)
  }

  /// Sends a request and waits for the whole response.
  ///
  /// A cancelled task gets `.cancelled` immediately; the request's connection is dropped or reused.
  ///
  /// - Parameter body: not allowed with GET and HEAD; the caller sets the content type.
  /// - Returns: the response, after redirects the last one, and its body, decompressed. If the body was compressed, the
  ///   fields `Content-Encoding` and `Content-Length` are omitted.
  public nonisolated(nonsending) func send(
    _ request: HTTPRequest, body: [UInt8] = []
  ) async throws(HTTPClientError) -> (HTTPResponse, [UInt8]) {
    let call = try HTTPCall(request, body: body, userAgent: configuration.userAgent)
    let transfer = HTTPTransfer(call, configuration)
    try await transfers.perform(transfer)
    return try transfer.response()
  }

  /// Sends a request with a file as its body, read while it is sent, and waits for the whole response.
  ///
  /// The file is read on the loop's thread, so it must be on a local disk.
  ///
  /// - Parameter path: a regular file that must not shrink meanwhile.
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

  /// Sends a request and writes the response's body into a file as it arrives.
  ///
  /// The file appears, replacing any existing one, once the body is complete. A status other than 2xx leaves an
  /// existing file unchanged. The bytes are written on the loop's thread, so the file must be on a local disk.
  ///
  /// - Parameter limit: the largest body to accept, in bytes after decompression; replaces `maximumBodyBytes`.
  /// - Returns: the response; its body if the status is not 2xx, else an empty one.
  /// - Throws: also `.file` and `.diskFull`.
  public nonisolated(nonsending) func download(
    _ request: HTTPRequest, to path: String, limit: Int
  ) async throws(HTTPClientError) -> (HTTPResponse, [UInt8]) {
    let call = try HTTPCall(request, body: [], userAgent: configuration.userAgent)
    let file = try DownloadFile(path, limit: limit, name: call.name)
    // Discard before returning: the loop may retain the transfer, and so the file, a moment longer.
    defer { file.discard() }
    let transfer = HTTPTransfer(call, configuration, download: file)
    try await transfers.perform(transfer)
    let (response, body) = try transfer.response()
    if response.status.kind == .successful { try file.keep() }
    return (response, body)
  }

  /// Closes all connections. Running and later requests fail with `.closed`.
  public func close() async {
    await transfers.close()
  }
}

/// The library's version once initialized; nil if initialization fails.
private let libcurl: LibcurlVersion? = {
  guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let info = curl_version_info(CURLVERSION_FIRST) else {
    return nil
  }
  let features = info.pointee.features
  return LibcurlVersion(
    version: String(cString: info.pointee.version), resolvesInBackground: features & CURL_VERSION_ASYNCHDNS != 0,
    hasHTTP2: features & CURL_VERSION_HTTP2 != 0)
}()

private struct LibcurlVersion: Sendable {
  let version: String
  let resolvesInBackground: Bool
  let hasHTTP2: Bool
}
