internal import CCurl
import Glibc

// What libcurl calls. These are file-scope functions because a closure written inside isolated code would carry that
// isolation and trap when C calls it. All of them run on the loop's thread, inside a call of `CurlMulti` to libcurl.

/// Which readiness of a socket libcurl waits for.
func curlWatchesSocket(
  _ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: Int32, _ multi: UnsafeMutableRawPointer?,
  _ unused: UnsafeMutableRawPointer?
) -> Int32 {
  guard let multi else { return 0 }
  Unmanaged<CurlMulti>.fromOpaque(multi).takeUnretainedValue().watch(socket, for: what)
  return 0
}

/// When libcurl wants to be called without a socket being ready.
func curlSetsTimer(_: UnsafeMutableRawPointer?, _ milliseconds: Int, _ multi: UnsafeMutableRawPointer?) -> Int32 {
  guard let multi else { return 0 }
  Unmanaged<CurlMulti>.fromOpaque(multi).takeUnretainedValue().setTimer(milliseconds)
  return 0
}

/// A program that the process starts must not inherit the connection.
func curlMadeSocket(_: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _: curlsocktype) -> Int32 {
  _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
  return CURL_SOCKOPT_OK
}

private func transfer(_ pointer: UnsafeMutableRawPointer?) -> HTTPTransfer? {
  guard let pointer else { return nil }
  return Unmanaged<HTTPTransfer>.fromOpaque(pointer).takeUnretainedValue()
}

private func mail(_ pointer: UnsafeMutableRawPointer?) -> MailTransfer? {
  guard let pointer else { return nil }
  return Unmanaged<MailTransfer>.fromOpaque(pointer).takeUnretainedValue()
}

/// A connection stands and the request goes out on it.
func transferLeaves(
  _ pointer: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CChar>?, _: UnsafeMutablePointer<CChar>?, _: Int32,
  _: Int32
) -> Int32 {
  transfer(pointer)?.progress.lastMoved = .now
  return CURL_PREREQFUNC_OK
}

/// libcurl asks for the next piece of a mail; 0 is its end.
func mailSends(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
  guard let mail = mail(pointer), let bytes else { return Int(CURL_READFUNC_ABORT) }
  return mail.write(to: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
}

/// A line of what the mail server says. libcurl keeps the number of the last one, which is all that is wanted.
func mailIsAnswered(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
  mail(pointer)?.progress.lastMoved = .now
  return size * count
}

/// One line of a head. Another count than that of the bytes ends the transfer.
func transferReceivedHead(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
  guard let transfer = transfer(pointer), let bytes else { return 0 }
  return transfer.receiveHead(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
}

/// A piece of the body, decompressed. Another count than that of the bytes ends the transfer.
func transferReceivedBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
  guard let transfer = transfer(pointer), let bytes else { return 0 }
  return transfer.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
}
