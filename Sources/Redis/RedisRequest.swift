internal import CHiredis
import EventLoop

/// What waits for replies: one command or a pipeline, from the moment it is sent until its last reply has come.
///
/// hiredis holds it as the private data of every command it stands for, retained once and released with the last reply.
/// When its task is cancelled it stays behind as a tombstone: the replies still come, and are dropped.
class RedisRequest: @unchecked Sendable {
  // `@unchecked Sendable`: the constants are set by `init`; every other field, here and in subclasses, is touched on the
  // event loop's thread only, where `start`, `cancel` and the reply callback are called.

  let commands: [RedisCommand]
  /// nil: the connection's own limit.
  let timeout: Duration?

  /// How many replies are still to come.
  var outstanding = 0
  /// The number of its last command on its connection, by which a time-out tells who was late.
  var lastSequence: UInt64 = 0
  var timer: TimerID?
  private(set) var isSettled = false

  init(commands: [RedisCommand], timeout: Duration?) {
    self.commands = commands
    self.timeout = timeout
  }

  /// Takes one reply. Called once a command, in order.
  func receive(_ reply: UnsafePointer<redisReply>) {}

  /// Tells the waiting task that no reply will come.
  func fail(_ error: RedisError) {}

  /// True for the first caller only: who may resume the task.
  final func settle() -> Bool {
    if isSettled { return false }
    isSettled = true
    return true
  }
}

/// A request with the task that waits for its output.
class RedisReplyRequest<Output: Sendable>: RedisRequest, @unchecked Sendable {
  // `@unchecked Sendable`: as in the superclass.
  private var continuation: CheckedContinuation<Result<Output, RedisError>, Never>?

  /// Attaches the waiting task. A request that was cancelled before answers it at once.
  ///
  /// - Returns: whether the request is still to be sent.
  final func start(_ continuation: CheckedContinuation<Result<Output, RedisError>, Never>) -> Bool {
    if isSettled {
      continuation.resume(returning: .failure(.cancelled))
      return false
    }
    self.continuation = continuation
    return true
  }

  final func finish(_ result: Result<Output, RedisError>) {
    guard settle() else { return }
    continuation?.resume(returning: result)
    continuation = nil
  }

  final override func fail(_ error: RedisError) { finish(.failure(error)) }
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

  override func receive(_ reply: UnsafePointer<redisReply>) {
    if isSettled { return }
    finish(decoded(RedisReply(reply), decode))
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

  override func receive(_ reply: UnsafePointer<redisReply>) {
    if isSettled { return }
    results.append(decoded(RedisReply(reply), decode))
    if results.count == commands.count { finish(.success(results)) }
  }
}

private func decoded<Output>(
  _ reply: borrowing RedisReply, _ decode: (borrowing RedisReply) throws(RedisError) -> Output
) -> Result<Output, RedisError> {
  if let error = reply.serverError { return .failure(error) }
  do throws(RedisError) {
    return .success(try decode(reply))
  } catch {
    return .failure(error)
  }
}
