import Cryptography
import Dispatch
import Locking

/// Hashes and checks passwords on dedicated threads. A hash takes a third of a second of one core, too long for an
/// event loop or the shared task threads. Clients take turns, so a client with many passwords delays only itself.
public final class PasswordHasher: Sendable {
  private struct State {
    var queue = FairQueue<String, @Sendable () -> Void>()
    /// The idle threads.
    var idle: [DispatchQueue]

    /// Takes the next work item and a thread for it.
    mutating func begin() -> (work: @Sendable () -> Void, thread: DispatchQueue)? {
      guard let thread = idle.last, let work = queue.popFirst() else { return nil }
      idle.removeLast()
      return (work, thread)
    }
  }

  private let limit: Int
  /// How many passwords of one client may wait.
  private let share: Int
  private let parameters: PasswordHash.Parameters
  /// The hash checked for an unknown address, so that the response takes as long as for a known one.
  private let decoy: String
  private let state: Locked<State>

  /// - Parameters:
  ///   - threads: how many passwords are processed at once, each using 32 MiB.
  ///   - limit: how many may wait, up to a quarter of them from one client. More are refused, since they would wait for
  ///     seconds.
  public convenience init(threads: Int = 2, limit: Int = 64) {
    self.init(threads: threads, limit: limit, parameters: PasswordHash.standard)
  }

  init(threads: Int, limit: Int, parameters: PasswordHash.Parameters) {
    precondition(threads > 0 && limit > 0, "a password hasher needs at least one thread and room for one password")
    // Serial queues get a thread even when other work has taken all of Dispatch's shared ones; a concurrent queue does
    // not.
    state = Locked(State(idle: (0..<threads).map { DispatchQueue(label: "fanmill.passwords.\($0)") }))
    self.limit = limit
    share = max(1, limit / 4)
    self.parameters = parameters
    let (logarithm, blockSize, parallelism) = parameters
    decoy =
      "$scrypt$ln=\(logarithm),r=\(blockSize),p=\(parallelism)$AAAAAAAAAAAAAAAAAAAAAA$"
      + String(repeating: "A", count: 43)
  }

  /// The hash of a password, as a PHC string.
  ///
  /// - Parameter client: the client whose turn this uses.
  /// - Throws: `busy`.
  public func hash(_ password: String, for client: String) async throws -> String {
    try await run(for: client) { [parameters] in try PasswordHash(of: password, parameters: parameters).description }
  }

  /// Whether `password` matches `hash`; false, after the same time, if `hash` is nil.
  ///
  /// - Throws: `busy`.
  public func check(_ password: String, against hash: String?, for client: String) async throws -> Bool {
    let known = hash.flatMap { PasswordHash($0) }
    guard let checked = known ?? PasswordHash(decoy) else { return false }
    let rest = Self.rest(of: checked, for: password, to: parameters)
    let matches = try await run(for: client) {
      let matches = try checked.matches(password)
      _ = try rest?.matches(password)
      return matches
    }
    return matches && known != nil
  }

  /// A stronger hash of the password under the same salt, if `old` is weaker than the current parameters; otherwise
  /// nil.
  ///
  /// - Parameter password: the correct password.
  /// - Throws: `busy`.
  func renewed(_ old: String, of password: String, for client: String) async throws -> String? {
    guard let known = PasswordHash(old), known.isWeaker(than: parameters) else { return nil }
    return try await run(for: client) { [parameters] in
      try PasswordHash(of: password, parameters: parameters, salt: known.salt).description
    }
  }

  /// The work by which an older hash is cheaper than a current one. Doing it too keeps response times from revealing
  /// which addresses have accounts.
  private static func rest(
    of hash: PasswordHash, for password: String, to parameters: PasswordHash.Parameters
  ) -> PasswordHash? {
    let done =
      PasswordHash.work((hash.logarithm, hash.blockSize, hash.parallelism)) * hash.derivations(of: password)
    // In passes of this hash's size.
    let passes = (PasswordHash.work(parameters) - done) / PasswordHash.work((hash.logarithm, hash.blockSize, 1))
    guard passes > 0 else { return nil }
    var rest = hash
    rest.scheme = .scrypt
    rest.parallelism = min(passes, Scrypt.maxParallelism)
    return rest
  }

  /// How many of a client's passwords are waiting.
  func waiting(of client: String) -> Int { state.withLock { $0.queue.count(of: client) } }

  /// Runs `work` on one of the threads when it is the client's turn.
  func run<Value: Sendable>(
    for client: String, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try Task.checkCancellation()
    return try await withCheckedThrowingContinuation { continuation in
      let taken = state.withLock { [limit, share] state in
        let isTaken = state.queue.count < limit && state.queue.count(of: client) < share
        if isTaken { state.queue.append({ continuation.resume(with: Result { try work() }) }, for: client) }
        return isTaken
      }
      guard taken else {
        continuation.resume(
          throwing: SocialError(.busy, "too many passwords are waiting to be checked: try again in a few seconds"))
        return
      }
      start()
    }
  }

  /// Starts waiting work on idle threads.
  private func start() {
    while let (work, thread) = state.withLock({ $0.begin() }) {
      thread.async {
        work()
        self.state.withLock { $0.idle.append(thread) }
        self.start()
      }
    }
  }
}
