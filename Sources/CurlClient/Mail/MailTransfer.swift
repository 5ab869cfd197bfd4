internal import CCurl

/// One mail in transit.
final class MailTransfer: CurlTransfer, @unchecked Sendable {
  // `@unchecked Sendable`: the constants are never written; every other field is touched only on the event loop's
  // thread.

  let server: MailServer
  let from: String
  let to: String
  let size: Int
  var name: String { server.name }
  var progress = TransferProgress()
  private let configuration: HTTPClientConfiguration
  private var rest: ArraySlice<UInt8>

  init(_ message: MailMessage, _ server: MailServer, _ configuration: HTTPClientConfiguration) {
    self.server = server
    self.configuration = configuration
    (from, to) = (message.from.text, message.to.text)
    rest = message.encoded()[...]
    size = rest.count
  }

  func prepare(_ handle: CurlHandle) -> CURLcode { handle.prepare(self, configuration) }

  /// Copies the next bytes into a buffer.
  ///
  /// - Returns: the number of bytes; 0 at the end.
  func write(to buffer: UnsafeMutableRawBufferPointer) -> Int {
    progress.lastMoved = .now
    let piece = rest.prefix(buffer.count)
    buffer.copyBytes(from: piece)
    rest = rest.dropFirst(piece.count)
    return piece.count
  }

  func finish(_ code: CURLcode, _ handle: CurlHandle) -> HTTPClientError? {
    if code == CURLE_OK { return nil }
    let answer = handle.status
    // The server's text may quote an address; its code tells the kind of refusal.
    if code == CURLE_LOGIN_DENIED {
      return HTTPClientError(.invalidRequest, "\(name): the server rejects the user or the password (\(answer))")
    }
    if code == CURLE_OPERATION_TIMEDOUT, progress.lastMoved != nil {
      return HTTPClientError(.stalled, "\(name): no data from the server for \(configuration.stallTimeout)")
    }
    if let unsent = HTTPClientError.unsent(code, name, handle, configuration) { return unsent }
    if (400...599).contains(answer) {
      return HTTPClientError(.invalidRequest, "\(name): the server rejects the mail (\(answer))")
    }
    return HTTPClientError(.transfer, "\(name): \(String(cString: curl_easy_strerror(code)))")
  }
}

extension CurlHandle {
  /// Sets all options for one mail.
  ///
  /// - Returns: libcurl's error for an option.
  func prepare(_ mail: MailTransfer, _ configuration: HTTPClientConfiguration) -> CURLcode {
    var options = CurlOptions(easy)
    options.set(CURLOPT_URL, mail.server.url)
    options.set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
    setConnection(configuration, &options)
    options.set(CURLOPT_USE_SSL, Int((mail.server.requiresTLS ? CURLUSESSL_ALL : CURLUSESSL_TRY).rawValue))
    options.set(CURLOPT_USERNAME, mail.server.user)
    options.set(CURLOPT_PASSWORD, mail.server.password)
    // This also limits the goodbye, which libcurl waits for on the loop's thread.
    options.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, max(1, Int(configuration.stallTimeout / .seconds(1))))
    options.set(CURLOPT_MAIL_FROM, "<\(mail.from)>")
    setList(CURLOPT_MAIL_RCPT, ["<\(mail.to)>"], &options)
    options.set(CURLOPT_UPLOAD, 1)
    options.set(CURLOPT_INFILESIZE_LARGE, size: mail.size)
    options.setMailCallbacks(Unmanaged.passUnretained(mail).toOpaque())
    return options.failure
  }
}
