import CLibPQ
import Glibc

/// Owns one libpq connection. Confined to the loop of the owning connection, and freed with it.
///
/// After a failed call, `failure` has the reason, without parameter values.
final class LibPQ {
  private let pointer: OpaquePointer
  // The parallel arrays that libpq needs, reused between calls.
  private var values: [UnsafePointer<CChar>?] = []
  private var lengths: [Int32] = []
  private var formats: [Int32] = []

  /// Starts connecting; `poll()` continues. nil if memory is exhausted.
  init?(_ keywords: [(String, String)]) {
    var names: [UnsafePointer<CChar>?] = []
    var values: [UnsafePointer<CChar>?] = []
    for (name, value) in keywords {
      names.append(UnsafePointer(strdup(name)))
      values.append(UnsafePointer(strdup(value)))
    }
    defer { for text in names + values { free(UnsafeMutableRawPointer(mutating: text)) } }
    guard let pointer = PQconnectStartParams(names + [nil], values + [nil], 0) else { return nil }
    self.pointer = pointer
    // By default, libpq prints notices to standard error.
    PQsetNoticeReceiver(pointer, ignoreNotice, nil)
    // libpq keeps no result for a refused connection, so the SQLSTATE must be in the message; see `refusal`.
    PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
  }

  deinit { PQfinish(pointer) }

  var descriptor: Int32 { PQsocket(pointer) }
  var hasFailed: Bool { PQstatus(pointer) == CONNECTION_BAD }
  /// libpq's error: only the first line, because the others are guesses.
  var failure: String {
    let text = String(cString: PQerrorMessage(pointer))
    return String(text.prefix { !$0.isNewline }).trimmed
  }

  /// The reason why the connection failed, with the SQLSTATE if the server refused it.
  var refusal: PostgresError {
    let text = failure
    guard let match = text.firstMatch(of: #/:  ([0-9A-Z]{5}): /#) else { return PostgresError(.connection, text) }
    return PostgresError(
      .connection, text[..<match.range.lowerBound] + ": " + text[match.range.upperBound...],
      sqlState: String(match.output.1))
  }

  /// Whether an idle connection has unread input, usually a sign of trouble.
  var hasUnreadInput: Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) >= 0
  }
  var serverVersion: Int { Int(PQserverVersion(pointer)) }
  var transactionStatus: PGTransactionStatusType { PQtransactionStatus(pointer) }
  var processID: Int32 { PQbackendPID(pointer) }

  /// Continues connecting. The file descriptor may change.
  func poll() -> PostgresPollingStatusType { PQconnectPoll(pointer) }

  /// Makes the new connection nonblocking and enables pipeline mode.
  func prepare() -> Bool {
    PQsetErrorVerbosity(pointer, PQERRORS_DEFAULT)
    return PQsetnonblocking(pointer, 1) == 0 && enterPipeline()
  }
  func enterPipeline() -> Bool { PQenterPipelineMode(pointer) == 1 }
  func exitPipeline() -> Bool { PQexitPipelineMode(pointer) == 1 }

  func sendPrepare(_ name: String, _ query: PostgresQuery) -> Bool {
    PQsendPrepare(pointer, name, query.sql, Int32(query.parameters.count), query.parameters.types) == 1
  }

  func sendPrepared(_ name: String, _ parameters: PostgresParameters) -> Bool {
    withParameters(parameters) {
      PQsendQueryPrepared(pointer, name, Int32(parameters.count), values, lengths, formats, 1) == 1
    }
  }

  func sendUnnamed(_ query: PostgresQuery) -> Bool {
    withParameters(query.parameters) {
      PQsendQueryParams(
        pointer, query.sql, Int32(values.count), query.parameters.types, values, lengths, formats, 1) == 1
    }
  }

  /// Sends SQL without parameters, with one or more statements; not in pipeline mode.
  func sendScript(_ sql: String) -> Bool { PQsendQuery(pointer, sql) == 1 }

  /// Ends a request: its statements form one transaction. Writes the pending output.
  func sync() -> Bool { PQpipelineSync(pointer) == 1 }

  /// Writes as much as the socket takes: 0 if that was everything, 1 if output remains, -1 if the connection is lost.
  func flush() -> Int32 { PQflush(pointer) }

  func consumeInput() -> Bool { PQconsumeInput(pointer) == 1 }
  var isBusy: Bool { PQisBusy(pointer) == 1 }
  func nextResult() -> PostgresResult? { PQgetResult(pointer).map(PostgresResult.init) }

  /// 1 if the data is queued, 0 if the socket must drain first, -1 on an error.
  func putCopyData(_ bytes: [UInt8]) -> Int32 {
    bytes.withUnsafeBytes {
      PQputCopyData(pointer, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
    }
  }

  /// Ends the COPY; with a reason, the server discards its data.
  func putCopyEnd(_ reason: String?) -> Int32 { PQputCopyEnd(pointer, reason) }

  func nextNotification() -> PostgresNotification? {
    guard let raw = PQnotifies(pointer) else { return nil }
    defer { PQfreemem(raw) }
    return PostgresNotification(
      channel: String(cString: raw.pointee.relname), payload: String(cString: raw.pointee.extra),
      sender: raw.pointee.be_pid)
  }

  /// A handle for cancelling the running statement from another thread.
  func canceller() -> LibPQCanceller? { PQgetCancel(pointer).map(LibPQCanceller.init) }

  private func withParameters(_ parameters: PostgresParameters, _ body: () -> Bool) -> Bool {
    values.removeAll(keepingCapacity: true)
    lengths.removeAll(keepingCapacity: true)
    formats.removeAll(keepingCapacity: true)
    return parameters.buffer.bytes.withUnsafeBytes { bytes in
      // An empty value is not NULL, so it needs an address even without bytes.
      let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) ?? emptyValue
      for entry in parameters.entries {
        values.append(entry.length < 0 ? nil : base + entry.start)
        lengths.append(Int32(max(0, entry.length)))
        formats.append(1)
      }
      return body()
    }
  }
}

/// Cancels a connection's running statement over a separate connection. It blocks, so it must not run on the loop.
final class LibPQCanceller: @unchecked Sendable {
  // `@unchecked Sendable`: the pointer is an immutable copy of the server's address and key; freed once.
  private let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) { self.pointer = pointer }
  deinit { PQfreeCancel(pointer) }

  /// Returns once the server has signalled the statement's process, or cannot be reached.
  func cancel() {
    var reason = [CChar](repeating: 0, count: 256)
    // It may or may not reach the statement; only the statement's own result counts.
    Self.withoutBrokenPipes { _ = PQcancel(pointer, &reason, Int32(reason.count)) }
  }

  /// libpq sends a cancel request with plain send(2), which must not kill the process when the server is gone. The
  /// thread belongs to others, so its signal mask is restored.
  private static func withoutBrokenPipes(_ body: () -> Void) {
    var pipe = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    var before = sigset_t()
    pthread_sigmask(SIG_BLOCK, &pipe, &before)
    body()
    var noWait = timespec()
    while sigtimedwait(&pipe, nil, &noWait) == SIGPIPE {}
    pthread_sigmask(SIG_SETMASK, &before, nil)
  }
}

/// An address for empty values. It is never read and never freed.
nonisolated(unsafe) private let emptyValue: UnsafePointer<CChar> = {
  let byte = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
  byte.initialize(to: 0)
  return UnsafePointer(byte)
}()

private func ignoreNotice(_: UnsafeMutableRawPointer?, _: OpaquePointer?) {}
