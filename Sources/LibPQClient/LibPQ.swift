import CLibPQ
import Glibc

/// Owns one connection of libpq. Confined to the loop of the connection that has it; freed with it.
///
/// A call that fails says why in `failure`, which names no parameter.
final class LibPQ {
  private let pointer: OpaquePointer
  // Reused from call to call: what libpq wants as parallel arrays.
  private var values: [UnsafePointer<CChar>?] = []
  private var lengths: [Int32] = []
  private var formats: [Int32] = []

  /// Begins to connect; `poll()` goes on. nil if memory is short.
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
    // The default prints notices to standard error.
    PQsetNoticeReceiver(pointer, ignoreNotice, nil)
    // Of a refused connection libpq has no result to ask: the SQLSTATE stands in the message, see `refusal`.
    PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
  }

  deinit { PQfinish(pointer) }

  var descriptor: Int32 { PQsocket(pointer) }
  var hasFailed: Bool { PQstatus(pointer) == CONNECTION_BAD }
  /// What libpq says went wrong: its first line, since the others guess.
  var failure: String {
    let text = String(cString: PQerrorMessage(pointer))
    return String(text.prefix { !$0.isNewline }).trimmed
  }

  /// Why there is no connection; with the server's SQLSTATE where it was the server that said no.
  var refusal: PostgresError {
    let text = failure
    guard let match = text.firstMatch(of: #/:  ([0-9A-Z]{5}): /#) else { return PostgresError(.connection, text) }
    return PostgresError(
      .connection, text[..<match.range.lowerBound] + ": " + text[match.range.upperBound...],
      sqlState: String(match.output.1))
  }

  /// Whether the server has something to say to a connection at rest, which is hardly ever good news.
  var hasUnreadInput: Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) >= 0
  }
  var serverVersion: Int { Int(PQserverVersion(pointer)) }
  var transactionStatus: PGTransactionStatusType { PQtransactionStatus(pointer) }
  var processID: Int32 { PQbackendPID(pointer) }

  /// Goes on connecting. Its descriptor may be another afterwards.
  func poll() -> PostgresPollingStatusType { PQconnectPoll(pointer) }

  /// Makes the fresh connection nonblocking and lets statements queue.
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

  /// Sends SQL without parameters, of one statement or several; not in pipeline mode.
  func sendScript(_ sql: String) -> Bool { PQsendQuery(pointer, sql) == 1 }

  /// Ends a request: what came before it is one transaction. Writes what is gathered.
  func sync() -> Bool { PQpipelineSync(pointer) == 1 }

  /// Writes what the socket takes: 0 if that was all, 1 if some is left, -1 if the connection is lost.
  func flush() -> Int32 { PQflush(pointer) }

  func consumeInput() -> Bool { PQconsumeInput(pointer) == 1 }
  var isBusy: Bool { PQisBusy(pointer) == 1 }
  func nextResult() -> PostgresResult? { PQgetResult(pointer).map(PostgresResult.init) }

  /// 1 if the data are queued, 0 if the socket must take some first, -1 on an error.
  func putCopyData(_ bytes: [UInt8]) -> Int32 {
    bytes.withUnsafeBytes {
      PQputCopyData(pointer, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
    }
  }

  /// Ends the COPY; with a reason, the server throws away what it got.
  func putCopyEnd(_ reason: String?) -> Int32 { PQputCopyEnd(pointer, reason) }

  func nextNotification() -> PostgresNotification? {
    guard let raw = PQnotifies(pointer) else { return nil }
    defer { PQfreemem(raw) }
    return PostgresNotification(
      channel: String(cString: raw.pointee.relname), payload: String(cString: raw.pointee.extra),
      sender: raw.pointee.be_pid)
  }

  /// What it takes to cancel the running statement from another thread.
  func canceller() -> LibPQCanceller? { PQgetCancel(pointer).map(LibPQCanceller.init) }

  private func withParameters(_ parameters: PostgresParameters, _ body: () -> Bool) -> Bool {
    values.removeAll(keepingCapacity: true)
    lengths.removeAll(keepingCapacity: true)
    formats.removeAll(keepingCapacity: true)
    return parameters.buffer.bytes.withUnsafeBytes { bytes in
      // An empty value is not NULL, so it needs an address even where there is no byte.
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

/// Ends a connection's running statement through a connection of its own. It blocks: not for the loop.
final class LibPQCanceller: @unchecked Sendable {
  // `@unchecked Sendable`: the pointer is a copy of the server's address and key, which nothing changes; freed once.
  private let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) { self.pointer = pointer }
  deinit { PQfreeCancel(pointer) }

  /// Returns when the server has signalled the statement's process, or cannot be reached.
  func cancel() {
    var reason = [CChar](repeating: 0, count: 256)
    // It reaches the statement or it does not: either way the statement's own answer is what counts.
    Self.withoutBrokenPipes { _ = PQcancel(pointer, &reason, Int32(reason.count)) }
  }

  /// libpq sends a cancellation with plain send(2): to a server that has gone, that must not be the process's end. The
  /// thread is not ours, so its signals are put back as they were.
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

/// An address for values of no bytes. It is never read and never freed.
nonisolated(unsafe) private let emptyValue: UnsafePointer<CChar> = {
  let byte = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
  byte.initialize(to: 0)
  return UnsafePointer(byte)
}()

private func ignoreNotice(_: UnsafeMutableRawPointer?, _: OpaquePointer?) {}
