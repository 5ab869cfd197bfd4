import Reactor

/// A command or pipeline that waits for replies, from sending until the last reply.
///
/// hiredis holds it as the private data of each of its commands, retained once and released with the last reply. If its
/// task is cancelled, it remains as a tombstone: the replies still arrive, and are dropped.
class RedisRequest: @unchecked Sendable {
  // `@unchecked Sendable`: `init` sets the constants; every other field, here and in subclasses, is touched only on the
  // event loop's thread, where `start`, `fail` and the reply callback are called. Only the output is also read by the
  // waiting task, after it was resumed with success and all writes have ended.

  let commands: [RedisCommand]
  /// nil for the connection's limit.
  let timeout: Duration?

  /// The number of replies still to come.
  final var outstanding = 0
  /// The number of its last command on its connection, which tells on a timeout whether it was late.
  final var lastSequence: UInt64 = 0
  final var timer: TimerID?
  private(set) final var isSettled = false
  /// Resumed with nil when the output is ready. Its type is the same for every output, which spares the hot path from
  /// building generic types at run time.
  private final var continuation: CheckedContinuation<RedisError?, Never>?

  init(commands: [RedisCommand], timeout: Duration?) {
    self.commands = commands
    self.timeout = timeout
  }

  /// Attaches the waiting task. A request that is already cancelled resumes it immediately.
  ///
  /// - Returns: whether the request is still to be sent.
  final func start(_ continuation: CheckedContinuation<RedisError?, Never>) -> Bool {
    if isSettled {
      continuation.resume(returning: .cancelled)
      return false
    }
    self.continuation = continuation
    return true
  }

  /// Takes one reply, unless the request is settled. Called once per command, in order.
  func receive(_ reply: borrowing RedisReply) {}

  /// Notifies the waiting task that no reply will come.
  final func fail(_ error: RedisError) { settle(error) }

  /// Resumes the waiting task on the first call.
  fileprivate final func settle(_ error: RedisError?) {
    if isSettled { return }
    isSettled = true
    continuation?.resume(returning: error)
    continuation = nil
  }
}

/// A request with an output.
class RedisReplyRequest<Output: Sendable>: RedisRequest, @unchecked Sendable {
  // `@unchecked Sendable`: as in the superclass.
  fileprivate final var result: Output?

  /// The result. Read by the waiting task once resumed with success.
  final func output() throws(RedisError) -> Output {
    guard let result else { throw RedisError(.protocol, "a request ended without its output") }
    return result
  }
}

/// One command; its reply is decoded on the loop.
final class RedisSingleRequest<Output: Sendable>: RedisReplyRequest<Output>, @unchecked Sendable {
  // `@unchecked Sendable`: as in the superclass; `decode` is a constant.
  private let decode: @Sendable (borrowing RedisReply) throws(RedisError) -> Output

  init(
    _ command: RedisCommand, timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) {
    self.decode = decode
    super.init(commands: [command], timeout: timeout)
  }

  override func receive(_ reply: borrowing RedisReply) {
    if let error = reply.serverError { return settle(error) }
    do throws(RedisError) {
      result = try decode(reply)
      settle(nil)
    } catch {
      settle(error)
    }
  }
}

/// Several commands with one waiting task, which the last reply resumes.
final class RedisPipelineRequest<Output: Sendable>: RedisReplyRequest<[Result<Output, RedisError>]>, @unchecked Sendable
{
  // `@unchecked Sendable`: as in the superclass; `decode` is a constant.
  private let decode: @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  private var results: [Result<Output, RedisError>] = []

  init(
    _ commands: [RedisCommand], timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) {
    self.decode = decode
    super.init(commands: commands, timeout: timeout)
    results.reserveCapacity(commands.count)
  }

  /// The last error reply so far, such as the server's reason for hanging up.
  var lastServerError: RedisError? {
    for case .failure(let error) in results.reversed() { return error }
    return nil
  }

  override func receive(_ reply: borrowing RedisReply) {
    if let error = reply.serverError {
      results.append(.failure(error))
    } else {
      do throws(RedisError) {
        results.append(.success(try decode(reply)))
      } catch {
        results.append(.failure(error))
      }
    }
    guard results.count == commands.count else { return }
    result = results
    settle(nil)
  }
}

/// One command for a cluster node that is still importing the key's slot: `ASKING` directly precedes it, with nothing
/// in between.
final class RedisAskingRequest<Output: Sendable>: RedisReplyRequest<Output>, @unchecked Sendable {
  // `@unchecked Sendable`: as in the superclass; `decode` is a constant.
  private let decode: @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  private var hasAsked = false

  init(
    _ command: RedisCommand, timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) {
    self.decode = decode
    super.init(commands: [RedisCommand("ASKING"), command], timeout: timeout)
  }

  override func receive(_ reply: borrowing RedisReply) {
    if !hasAsked {
      // If `ASKING` is refused, the command's own reply is an error too.
      hasAsked = true
      return
    }
    if let error = reply.serverError { return settle(error) }
    do throws(RedisError) {
      result = try decode(reply)
      settle(nil)
    } catch {
      settle(error)
    }
  }
}
