internal import CCurl
import Glibc

extension HTTPClientError {
  /// The meaning of a libcurl code for the caller. libcurl's own text is used only if it cannot quote the request or
  /// the response.
  init(_ code: CURLcode, _ transfer: HTTPTransfer, _ handle: CurlHandle, _ configuration: HTTPClientConfiguration) {
    if let refusal = transfer.refusal {
      self = refusal
      return
    }
    let name = transfer.name
    if let unsent = HTTPClientError.unsent(code, name, handle, configuration) {
      self = unsent
      return
    }
    // Before the first response, libcurl's complaint is about the request; afterwards, about a redirect.
    let isRedirected = !transfer.head.isEmpty
    switch code {
    case CURLE_FILESIZE_EXCEEDED: self = .bodyTooLarge(name, transfer.bodyLimit)
    case CURLE_TOO_MANY_REDIRECTS:
      self.init(.redirect, "\(name): more than \(configuration.maximumRedirects) redirects")
    case CURLE_UNSUPPORTED_PROTOCOL where isRedirected:
      self.init(.redirect, "\(name): redirects to a URL that is not https")
    case CURLE_UNSUPPORTED_PROTOCOL: self.init(.transfer, "\(name): the response is not HTTP")
    case CURLE_URL_MALFORMAT where isRedirected: self.init(.redirect, "\(name): redirects to an invalid URL")
    case CURLE_URL_MALFORMAT: self.init(.invalidRequest, "\(name): not a URL")
    default: self.init(.transfer, "\(name): \(String(cString: curl_easy_strerror(code)))")
    }
  }

  /// The reason why there is no connection to send on; nil if there was one.
  static func unsent(
    _ code: CURLcode, _ name: String, _ handle: CurlHandle, _ configuration: HTTPClientConfiguration
  ) -> HTTPClientError? {
    let text = String(cString: curl_easy_strerror(code))
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST: return HTTPClientError(.nameNotResolved, "\(name): the host has no address")
    case CURLE_COULDNT_RESOLVE_PROXY:
      return HTTPClientError(.connection, "\(name): the proxy set in the environment has no address")
    case CURLE_COULDNT_CONNECT, CURLE_PROXY:
      let reason = handle.systemError == 0 ? text : String(cString: strerror(handle.systemError))
      return HTTPClientError(.connection, "\(name): not reachable: \(reason)")
    case CURLE_OPERATION_TIMEDOUT:
      return HTTPClientError(.connection, "\(name): no connection within \(configuration.connectTimeout)")
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
      CURLE_USE_SSL_FAILED, CURLE_SSL_CRL_BADFILE:
      let reason = handle.handshakeFailure
      return HTTPClientError(.tls, "\(name): no trusted connection: \(reason.isEmpty ? text : reason)")
    default: return nil
    }
  }

  /// - Parameter limit: in bytes.
  static func bodyTooLarge(_ name: String, _ limit: Int) -> HTTPClientError {
    HTTPClientError(.bodyTooLarge, "\(name): the body is larger than \(limit) bytes")
  }
}
