import Dispatch
import Locking

/// Hashes and checks passwords on threads of its own: a hash takes a tenth of a second of one core, which neither an event loop
/// nor the tasks' shared threads can spare.
public final class PasswordHasher: Sendable {
  private struct State {
    var waiting = 0
    var next = 0
  }

  private let queues: [DispatchQueue]
  private let limit: Int
  private let parameters: (logarithm: Int, blockSize: Int, parallelism: Int)
  /// What an unknown address's password is checked against, so that the answer takes as long as for a known one.
  private let decoy: String
  private let state = Locked(State())

  /// - Parameters:
  ///   - threads: how many passwords are worked on at once, each with 32 MiB.
  ///   - limit: how many may be under way or wait; more are refused, since they would wait for seconds.
  public convenience init(threads: Int = 2, limit: Int = 64) {
    self.init(threads: threads, limit: limit, parameters: PasswordHash.standard)
  }

  init(threads: Int, limit: Int, parameters: (logarithm: Int, blockSize: Int, parallelism: Int)) {
    precondition(threads > 0 && limit > 0, "a password hasher has a thread and room for a password at least")
    queues = (0..<threads).map { DispatchQueue(label: "fanmill.passwords.\($0)") }
    self.limit = limit
    self.parameters = parameters
    let (logarithm, blockSize, parallelism) = parameters
    decoy =
      "$scrypt$ln=\(logarithm),r=\(blockSize),p=\(parallelism)$AAAAAAAAAAAAAAAAAAAAAA$"
      + String(repeating: "A", count: 43)
  }

  /// The hash of a password, as a PHC string.
  ///
  /// - Throws: `busy`.
  public func hash(_ password: String) async throws -> String {
    try await run { [parameters] in try PasswordHash(of: password, parameters: parameters).description }
  }

  /// Whether `password` has the hash `hash`; false, after as long a time, if there is none.
  ///
  /// - Throws: `busy`.
  public func check(_ password: String, against hash: String?) async throws -> Bool {
    let known = hash.flatMap { PasswordHash($0) }
    guard let checked = known ?? PasswordHash(decoy) else { return false }
    let matches = try await run { try checked.matches(password) }
    return matches && known != nil
  }

  private func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    let queue: DispatchQueue? = state.withLock { [queues, limit] state in
      guard state.waiting < limit else { return nil }
      state.waiting += 1
      state.next = (state.next + 1) % queues.count
      return queues[state.next]
    }
    guard let queue else {
      throw SocialError(.busy, "too many passwords wait to be checked: try again in a few seconds")
    }
    defer { state.withLock { $0.waiting -= 1 } }
    try Task.checkCancellation()
    return try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try work() }) }
    }
  }
}
