internal import CCurl
import Glibc
import Reactor

/// The only owner of a multi handle: connections, their transfers, and the easy handles that carry those. Confined to
/// the loop's thread.
///
/// Through the file-scope functions below, libcurl reports the sockets it waits for and when to call it again.
final class CurlMulti {
  /// The number of idle handles kept for later transfers.
  private static let idleLimit = 64

  private let loop: EventLoop
  private let configuration: HTTPClientConfiguration
  private let multi: UnsafeMutableRawPointer
  /// By handle. This reference keeps a transfer alive for libcurl: added with the handle, removed with it.
  private var transfers: [UnsafeMutableRawPointer: any CurlTransfer] = [:]
  private var idle: [CurlHandle] = []
  private var sockets: Set<Int32> = []
  private var timer: TimerID?
  private var isStarting = false
  private var startIsDue = false
  private var isClosed = false

  init(_ configuration: HTTPClientConfiguration, loop: EventLoop) throws(HTTPClientError) {
    loop.preconditionIsCurrent()
    guard let multi = curl_multi_init() else {
      throw HTTPClientError(.unsupported, "libcurl could not be initialised: out of memory or descriptors")
    }
    self.multi = multi
    self.loop = loop
    self.configuration = configuration
    let pointer = Unmanaged.passUnretained(self).toOpaque()
    let connections = max(1, configuration.connectionsPerHost)
    let codes = [
      fanmill_curl_multi_set_socket_watcher(multi, curlWatchesSocket),
      fanmill_curl_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, pointer),
      fanmill_curl_multi_set_timer(multi, curlSetsTimer),
      fanmill_curl_multi_set_pointer(multi, CURLMOPT_TIMERDATA, pointer),
      fanmill_curl_multi_set_number(multi, CURLMOPT_MAX_HOST_CONNECTIONS, connections),
      // Kept open for later requests, over all hosts.
      fanmill_curl_multi_set_number(multi, CURLMOPT_MAXCONNECTS, 4 * connections),
    ]
    guard codes.allSatisfy({ $0 == CURLM_OK }) else {
      curl_multi_cleanup(multi)
      throw HTTPClientError(.unsupported, "libcurl rejects its options; version 7.87 or later is needed")
    }
  }

  /// The number of transfers in libcurl, of idle handles, and of watched sockets.
  var counts: (transfers: Int, idle: Int, sockets: Int) { (transfers.count, idle.count, sockets.count) }

  /// Fails running transfers with `.closed`, closes all connections and frees everything. No method may be called
  /// afterwards.
  func close() {
    if isClosed { return }
    isClosed = true
    for transfer in Array(transfers.values) {
      end(transfer, HTTPClientError(.closed, "\(transfer.name): the client was closed"))
    }
    idle = []
    // This closes connections and reports it through the hooks.
    curl_multi_cleanup(multi)
    for socket in sockets { loop.deregister(socket) }
    sockets = []
    if let timer { loop.cancel(timer) }
    timer = nil
  }

  // MARK: Transfers

  /// Starts a transfer at the end of this turn of the loop.
  func start(_ transfer: any CurlTransfer) {
    guard let handle = idle.popLast() ?? CurlHandle() else {
      return transfer.settle(HTTPClientError(.transfer, "\(transfer.name): out of memory for another request"))
    }
    let code = transfer.prepare(handle)
    guard code == CURLE_OK else {
      let reason = String(cString: curl_easy_strerror(code))
      return transfer.settle(
        HTTPClientError(.unsupported, "\(transfer.name): libcurl rejects an option: \(reason)"))
    }
    transfer.progress.handle = handle
    transfers[handle.easy] = transfer
    isStarting = true
    let added = curl_multi_add_handle(multi, handle.easy)
    isStarting = false
    guard added == CURLM_OK else {
      return end(
        transfer, HTTPClientError(.transfer, "\(transfer.name): \(String(cString: curl_multi_strerror(added)))"))
    }
    transfer.progress.deadline = .now + configuration.timeout
    watch(transfer, for: min(configuration.timeout, configuration.stallTimeout))
  }

  /// Ends a transfer, even one not begun or already over; its handle is free immediately.
  func end(_ transfer: any CurlTransfer, _ error: HTTPClientError?) {
    if let timer = transfer.progress.timer { loop.cancel(timer) }
    transfer.progress.timer = nil
    if let handle = transfer.progress.handle {
      transfer.progress.handle = nil
      curl_multi_remove_handle(multi, handle.easy)
      handle.clear()
      transfers[handle.easy] = nil
      if idle.count < Self.idleLimit, !isClosed { idle.append(handle) }
    }
    transfer.settle(error)
  }

  /// Watches a transfer's limits, with one timer for both.
  private func watch(_ transfer: any CurlTransfer, for delay: Duration) {
    transfer.progress.timer = loop.schedule(after: delay) { [weak self, weak transfer] in
      if let self, let transfer { self.checkLimits(transfer) }
    }
  }

  private func checkLimits(_ transfer: any CurlTransfer) {
    guard let handle = transfer.progress.handle else { return }
    let now = ContinuousClock.now
    let name = transfer.name
    guard now < transfer.progress.deadline else {
      return end(transfer, HTTPClientError(.timeout, "\(name): no complete response within \(configuration.timeout)"))
    }
    var next = transfer.progress.deadline
    if transfer.progress.lastMoved == nil {
      // It is waiting for a connection, which has other limits.
      next = min(next, now + configuration.stallTimeout)
    } else {
      if handle.sentBytes != transfer.progress.sentBytes {
        transfer.progress.sentBytes = handle.sentBytes
        transfer.progress.lastMoved = now
      }
      let patience = (transfer.progress.lastMoved ?? now) + configuration.stallTimeout
      guard now < patience else {
        return end(transfer, HTTPClientError(.stalled, "\(name): no data for \(configuration.stallTimeout)"))
      }
      next = min(next, patience)
    }
    watch(transfer, for: next - now)
  }

  // MARK: Called by the hooks

  func watch(_ socket: Int32, for what: Int32) {
    if what == CURL_POLL_REMOVE {
      if sockets.remove(socket) != nil { loop.deregister(socket) }
      return
    }
    var interest: EventLoop.Readiness = []
    if what & CURL_POLL_IN != 0 { interest.insert(.read) }
    if what & CURL_POLL_OUT != 0 { interest.insert(.write) }
    if sockets.insert(socket).inserted {
      loop.register(socket, interest: interest) { [weak self] in self?.ready(socket, $0) }
    } else {
      loop.setInterest(interest, for: socket)
    }
  }

  /// - Parameter milliseconds: negative for never.
  func setTimer(_ milliseconds: Int) {
    if let timer { loop.cancel(timer) }
    timer = nil
    if milliseconds < 0 { return }
    if milliseconds == 0, isStarting {
      // One call starts all transfers of a turn.
      if startIsDue { return }
      startIsDue = true
      return loop.atTurnEnd { [weak self] in
        self?.startIsDue = false
        self?.act(CURL_SOCKET_TIMEOUT, 0)
      }
    }
    timer = loop.schedule(after: .milliseconds(milliseconds)) { [weak self] in
      self?.timer = nil
      self?.act(CURL_SOCKET_TIMEOUT, 0)
    }
  }

  private func ready(_ socket: Int32, _ readiness: EventLoop.Readiness) {
    var mask: Int32 = 0
    if readiness.contains(.read) { mask |= CURL_CSELECT_IN }
    if readiness.contains(.write) { mask |= CURL_CSELECT_OUT }
    act(socket, mask)
  }

  /// Lets libcurl proceed, and finishes completed transfers.
  private func act(_ socket: Int32, _ mask: Int32) {
    if isClosed { return }
    var running: Int32 = 0
    curl_multi_socket_action(multi, socket, mask, &running)
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
      // Removing the handle invalidates the message.
      let code = message.pointee.data.result
      if let transfer = transfers[easy] { finish(transfer, code) }
    }
  }

  private func finish(_ transfer: any CurlTransfer, _ code: CURLcode) {
    guard let handle = transfer.progress.handle else { return }
    end(transfer, transfer.finish(code, handle))
  }
}

// libcurl's callbacks. They are file-scope functions because a closure written inside isolated code would carry that
// isolation and trap when C calls it. All run on the loop's thread, inside a call from `CurlMulti` to libcurl.

/// The readiness that libcurl waits for on a socket.
func curlWatchesSocket(
  _ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: Int32, _ multi: UnsafeMutableRawPointer?,
  _ unused: UnsafeMutableRawPointer?
) -> Int32 {
  guard let multi else { return 0 }
  Unmanaged<CurlMulti>.fromOpaque(multi).takeUnretainedValue().watch(socket, for: what)
  return 0
}

/// The time at which libcurl wants to be called even if no socket is ready.
func curlSetsTimer(_: UnsafeMutableRawPointer?, _ milliseconds: Int, _ multi: UnsafeMutableRawPointer?) -> Int32 {
  guard let multi else { return 0 }
  Unmanaged<CurlMulti>.fromOpaque(multi).takeUnretainedValue().setTimer(milliseconds)
  return 0
}

/// Child processes must not inherit the connection.
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

/// libcurl is about to connect to an address; a bad socket makes it try the host's next one.
func transferOpensSocket(
  _ pointer: UnsafeMutableRawPointer?, _: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let transfer = transfer(pointer), let address else { return -1 }
  var bytes = [UInt8](repeating: 0, count: 16)
  let count = Int(fanmill_curl_address(address, &bytes))
  guard transfer.mayConnect(to: Array(bytes.prefix(count))) else { return -1 }
  return fanmill_curl_open_socket(address)
}

/// Connected: the request leaves now.
func transferLeaves(
  _ pointer: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CChar>?, _: UnsafeMutablePointer<CChar>?, _: Int32,
  _: Int32
) -> Int32 {
  transfer(pointer)?.progress.lastMoved = .now
  return CURL_PREREQFUNC_OK
}

/// libcurl reads the next piece of an upload; 0 ends it.
func transferSendsBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
  guard let transfer = transfer(pointer), let bytes else { return Int(CURL_READFUNC_ABORT) }
  let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
  return transfer.sendBody(into: buffer) ?? Int(CURL_READFUNC_ABORT)
}

/// libcurl restarts an upload on another connection.
func transferRewindsBody(_ pointer: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
  guard origin == SEEK_SET, let upload = transfer(pointer)?.upload, upload.rewind(to: Int(offset)) else {
    return CURL_SEEKFUNC_FAIL
  }
  return CURL_SEEKFUNC_OK
}

/// libcurl reads the next piece of a mail; 0 ends it.
func mailSends(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
  guard let mail = mail(pointer), let bytes else { return Int(CURL_READFUNC_ABORT) }
  return mail.write(to: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
}

/// A line of the mail server's reply. libcurl keeps the last one's code, and nothing else is needed.
func mailIsAnswered(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
  mail(pointer)?.progress.lastMoved = .now
  return size * count
}

/// One header line. Returning a count other than the number of bytes ends the transfer.
func transferReceivedHead(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
  guard let transfer = transfer(pointer), let bytes else { return 0 }
  return transfer.receiveHead(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
}

/// A piece of the body, decompressed. Returning a count other than the number of bytes ends the transfer.
func transferReceivedBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
  guard let transfer = transfer(pointer), let bytes else { return 0 }
  return transfer.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
}
