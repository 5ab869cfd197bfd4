internal import CCurl

/// Owns one easy handle of libcurl and the memory that its options refer to. Used for one transfer after another, on
/// the loop.
final class CurlHandle {
  let easy: UnsafeMutableRawPointer
  private let errorText: UnsafeMutablePointer<CChar>
  private var lines: UnsafeMutablePointer<curl_slist>?
  private var names: UnsafeMutablePointer<curl_slist>?

  /// nil if memory is exhausted.
  init?() {
    guard let easy = curl_easy_init() else { return nil }
    self.easy = easy
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.pointee = 0
  }

  deinit {
    curl_easy_cleanup(easy)
    curl_slist_free_all(lines)
    curl_slist_free_all(names)
    errorText.deallocate()
  }

  /// Resets everything that `prepare` set, so that nothing of one request leaks into the next.
  func clear() {
    curl_easy_reset(easy)
    curl_slist_free_all(lines)
    curl_slist_free_all(names)
    lines = nil
    names = nil
    errorText.pointee = 0
  }

  // MARK: Completed transfers

  /// libcurl's message for a failed handshake. It names only certificates and hosts; messages for other failures may
  /// quote more, so they are not used.
  var handshakeFailure: String { String(cString: errorText) }

  var status: Int { number(CURLINFO_RESPONSE_CODE) }

  /// The system's error number for a failed connection; 0 if there is none.
  var systemError: Int32 { Int32(truncatingIfNeeded: number(CURLINFO_OS_ERRNO)) }

  /// The number of body bytes sent.
  var sentBytes: Int {
    var size: curl_off_t = 0
    fanmill_curl_get_size(easy, CURLINFO_SIZE_UPLOAD_T, &size)
    return Int(size)
  }

  private func number(_ info: CURLINFO) -> Int {
    var value = 0
    fanmill_curl_get_number(easy, info, &value)
    return value
  }

  // MARK: Options

  /// Sets all options for one transfer.
  ///
  /// - Parameter transfer: passed to the callbacks; must outlive the transfer.
  /// - Returns: libcurl's error for an option. Nothing may be sent then, because the option may be a protective one.
  func prepare(_ transfer: HTTPTransfer, _ configuration: HTTPClientConfiguration) -> CURLcode {
    let call = transfer.call
    var options = CurlOptions(easy)
    options.set(CURLOPT_URL, call.url)
    options.set(CURLOPT_PATH_AS_IS, 1)
    options.set(CURLOPT_PROTOCOLS_STR, "http,https")
    options.set(CURLOPT_REDIR_PROTOCOLS_STR, "https")
    options.set(CURLOPT_FOLLOWLOCATION, configuration.maximumRedirects > 0 ? 1 : 0)
    options.set(CURLOPT_MAXREDIRS, max(0, configuration.maximumRedirects))
    // Over TLS, the first connection shows whether it multiplexes requests; until then the other requests wait for it.
    options.set(CURLOPT_HTTP_VERSION, call.isHTTPS ? Int(CURL_HTTP_VERSION_2TLS) : Int(CURL_HTTP_VERSION_1_1))
    options.set(CURLOPT_PIPEWAIT, call.isHTTPS ? 1 : 0)
    setConnection(configuration, &options)
    options.set(CURLOPT_ACCEPT_ENCODING, "")
    options.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    setMethod(transfer, &options)
    setList(CURLOPT_HTTPHEADER, call.fields, &options)
    if configuration.allowsAddress != nil {
      options.set(CURLOPT_PROXY, "")
      options.setSocketOpener(transfer)
    }
    if let resolve = configuration.resolvesName, let (host, port) = call.endpoint {
      let addresses = resolve(host)
      if !addresses.isEmpty {
        // It replaces what an earlier request of this client has resolved.
        names = curl_slist_append(nil, "\(host):\(port):\(addresses.joined(separator: ","))")
        options.set(CURLOPT_RESOLVE, pointer: names)
      }
    }
    options.setCallbacks(Unmanaged.passUnretained(transfer).toOpaque())
    return options.failure
  }

  /// Sets the options of every connection, regardless of protocol.
  func setConnection(_ configuration: HTTPClientConfiguration, _ options: inout CurlOptions) {
    options.set(CURLOPT_SSL_VERIFYPEER, 1)
    options.set(CURLOPT_SSL_VERIFYHOST, 2)
    options.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    if let authorities = configuration.certificateAuthorities {
      options.set(CURLOPT_CAINFO, authorities)
      options.set(CURLOPT_CAPATH, nil)
    }
    options.set(CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout.curlMilliseconds)
    // Signals belong to the process, not to a thread.
    options.set(CURLOPT_NOSIGNAL, 1)
    // A name lookup in progress must not block the loop when its transfer is cancelled.
    options.set(CURLOPT_QUICK_EXIT, 1)
    options.setSocketMade()
    options.set(CURLOPT_ERRORBUFFER, pointer: errorText)
  }

  /// Sets the list option of a request or a mail, which libcurl reads throughout the transfer.
  func setList(_ option: CURLoption, _ lines: [String], _ options: inout CurlOptions) {
    for line in lines { self.lines = curl_slist_append(self.lines, line) ?? self.lines }
    options.set(option, pointer: self.lines)
  }

  private func setMethod(_ transfer: HTTPTransfer, _ options: inout CurlOptions) {
    let call = transfer.call
    switch call.method {
    case "GET": options.set(CURLOPT_HTTPGET, 1)
    case "HEAD": options.set(CURLOPT_NOBODY, 1)
    case _ where transfer.upload != nil:
      options.setUpload(transfer)
      // PUT is libcurl's default for uploads.
      if call.method != "PUT" { options.set(CURLOPT_CUSTOMREQUEST, call.method) }
    default:
      // A request with these methods states its body's length, even without a body.
      if !call.body.isEmpty || ["POST", "PUT", "PATCH"].contains(call.method) { options.setBody(call.body) }
      if call.method != "POST" { options.set(CURLOPT_CUSTOMREQUEST, call.method) }
    }
    if call.method != "HEAD", !transfer.cutsBody { options.set(CURLOPT_MAXFILESIZE_LARGE, size: transfer.bodyLimit) }
  }
}

/// Sets options and keeps the first error.
struct CurlOptions {
  private let easy: UnsafeMutableRawPointer
  private(set) var failure = CURLE_OK

  init(_ easy: UnsafeMutableRawPointer) { self.easy = easy }

  private mutating func note(_ code: CURLcode) { if failure == CURLE_OK { failure = code } }

  mutating func set(_ option: CURLoption, _ value: Int) { note(fanmill_curl_set_number(easy, option, value)) }
  mutating func set(_ option: CURLoption, _ value: String?) { note(fanmill_curl_set_text(easy, option, value)) }
  mutating func set(_ option: CURLoption, size: Int) { note(fanmill_curl_set_size(easy, option, curl_off_t(size))) }
  mutating func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
    note(fanmill_curl_set_pointer(easy, option, pointer))
  }

  /// Copies the body; libcurl needs its size first.
  mutating func setBody(_ body: [UInt8]) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, size: body.count)
    if body.isEmpty { return set(CURLOPT_COPYPOSTFIELDS, "") }
    body.withUnsafeBytes { bytes in
      set(CURLOPT_COPYPOSTFIELDS, pointer: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
  }

  /// A body that libcurl reads in pieces, and may read again from the beginning.
  mutating func setUpload(_ transfer: HTTPTransfer) {
    let pointer = Unmanaged.passUnretained(transfer).toOpaque()
    set(CURLOPT_UPLOAD, 1)
    set(CURLOPT_INFILESIZE_LARGE, size: transfer.upload?.size ?? 0)
    note(fanmill_curl_set_sender(easy, transferSendsBody))
    set(CURLOPT_READDATA, pointer: pointer)
    note(fanmill_curl_set_seeker(easy, transferRewindsBody))
    set(CURLOPT_SEEKDATA, pointer: pointer)
  }

  mutating func setCallbacks(_ transfer: UnsafeMutableRawPointer) {
    note(fanmill_curl_set_receiver(easy, CURLOPT_HEADERFUNCTION, transferReceivedHead))
    set(CURLOPT_HEADERDATA, pointer: transfer)
    note(fanmill_curl_set_receiver(easy, CURLOPT_WRITEFUNCTION, transferReceivedBody))
    set(CURLOPT_WRITEDATA, pointer: transfer)
    note(fanmill_curl_set_before_request(easy, transferLeaves))
    set(CURLOPT_PREREQDATA, pointer: transfer)
  }

  /// Asks the transfer before each connection.
  mutating func setSocketOpener(_ transfer: HTTPTransfer) {
    note(fanmill_curl_set_socket_opener(easy, transferOpensSocket))
    set(CURLOPT_OPENSOCKETDATA, pointer: Unmanaged.passUnretained(transfer).toOpaque())
  }

  mutating func setSocketMade() { note(fanmill_curl_set_socket_made(easy, curlMadeSocket)) }

  mutating func setMailCallbacks(_ mail: UnsafeMutableRawPointer) {
    note(fanmill_curl_set_sender(easy, mailSends))
    set(CURLOPT_READDATA, pointer: mail)
    note(fanmill_curl_set_receiver(easy, CURLOPT_HEADERFUNCTION, mailIsAnswered))
    set(CURLOPT_HEADERDATA, pointer: mail)
    note(fanmill_curl_set_receiver(easy, CURLOPT_WRITEFUNCTION, mailIsAnswered))
    set(CURLOPT_WRITEDATA, pointer: mail)
  }
}

extension Duration {
  /// At least 1, because libcurl takes 0 for its default, and at most what its arithmetic can hold.
  var curlMilliseconds: Int { Int(min(max(1, (self / .milliseconds(1)).rounded(.up)), 2_000_000_000)) }
}
