import Reactor

/// What waits for replies: one command or a pipeline, from the moment it is sent until its last reply has come.
///
/// hiredis holds it as the private data of every command it stands for, retained once and released with the last reply.
/// When its task is cancelled it stays behind as a tombstone: the replies still come, and are dropped.
class RedisRequest: @unchecked Sendable {
  // `@unchecked Sendable`: the constants are set by `init`; every other field, here and in subclasses, is touched on
  // the event loop's thread only, where `start`, `fail` and the reply callback are called. The output alone is also
  // read by the waiting task, after it was resumed with success, when nobody writes it any more.

  let commands: [RedisCommand]
  /// nil: the connection's own limit.
  let timeout: Duration?

  /// How many replies are still to come.
  final var outstanding = 0
  /// The number of its last command on its connection, by which a time-out tells who was late.
  final var lastSequence: UInt64 = 0
  final var timer: TimerID?
  private(set) final var isSettled = false
  /// Resumed with nil when the output is there. Its type is the same for every output, which saves the hot path from
  /// building generic types at run time.
  private final var continuation: CheckedContinuation<RedisError?, Never>?

  init(commands: [RedisCommand], timeout: Duration?) {
    self.commands = commands
    self.timeout = timeout
  }

  /// Attaches the waiting task. A request that was cancelled before answers it at once.
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

  /// Takes one reply, unless the request is settled. Called once a command, in order.
  func receive(_ reply: borrowing RedisReply) {}

  /// Tells the waiting task that no reply will come.
  final func fail(_ error: RedisError) { settle(error) }

  /// Resumes the waiting task, the first time it is called.
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

  /// What came. Asked by the waiting task when it was resumed with success.
  final func output() throws(RedisError) -> Output {
    guard let result else { throw RedisError(.protocol, "a request ended without its output") }
    return result
  }
}

/// One command, its reply decoded on the loop.
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

/// Several commands with one waiting task, resumed by the last reply.
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

  /// The last error reply so far: what the server said before it hung up.
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

/// One command that a cluster's node carries out although it is only about to get the key: `ASKING` goes before it, and
/// between the two there must be nothing.
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
      // Where it is refused, the command's own reply says so as well.
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
