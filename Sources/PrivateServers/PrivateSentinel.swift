import Foundation
import Glibc

/// A private Redis Sentinel on a port of 127.0.0.1: `redis-server --sentinel`.
///
/// It stops when `stop` is called, and when this program exits or is killed.
public actor PrivateSentinel {
  public nonisolated let port: Int
  public nonisolated var log: String { folder.path + "/sentinel.log" }
  private nonisolated let folder: ServerFolder
  private var process: ServerProcess?

  /// The options of a sentinel.
  public struct Options: Sendable {
    /// The master's name.
    public var name: String
    /// The master's port on 127.0.0.1.
    public var master: Int
    /// The number of sentinels that must agree that the master is down.
    public var quorum: Int
    /// How long the master may be silent, in milliseconds.
    public var downAfter = 2000
    /// The limit of a failover, in milliseconds; a second attempt waits twice as long.
    public var failoverTimeout = 10_000
    /// The password that clients of the sentinel need.
    public var password: String?
    /// The password that the sentinel sends to the servers.
    public var serverPassword: String?

    public init(name: String, master: Int, quorum: Int) {
      self.name = name
      self.master = master
      self.quorum = quorum
    }
  }

  /// Starts a sentinel in a temporary folder and waits until it responds.
  public static func start(_ options: Options) async throws(PrivateServerError) -> PrivateSentinel {
    let sentinel = try PrivateSentinel()
    try await sentinel.start(options)
    return sentinel
  }

  private init() throws(PrivateServerError) {
    folder = try ServerFolder(nil)
    port = try FreePort.find()
  }

  deinit {
    process?.send(SIGKILL)
    if let process { Leftovers.forget(process) }
  }

  private func start(_ options: Options) async throws(PrivateServerError) {
    // A sentinel saves its state in its configuration file, so it needs a separate file.
    var lines = [
      "port \(port)", "bind 127.0.0.1", "dir \(folder.path)", "logfile \"\"", "protected-mode no",
      "sentinel monitor \(options.name) 127.0.0.1 \(options.master) \(options.quorum)",
      "sentinel down-after-milliseconds \(options.name) \(options.downAfter)",
      "sentinel failover-timeout \(options.name) \(options.failoverTimeout)",
      "sentinel parallel-syncs \(options.name) 1",
    ]
    if let password = options.password { lines.append("requirepass \(password)") }
    if let password = options.serverPassword { lines.append("sentinel auth-pass \(options.name) \(password)") }
    let file = folder.path + "/sentinel.conf"
    do {
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: file))
    } catch {
      throw PrivateServerError(.folder, "\(file) cannot be written: \(error.localizedDescription)")
    }
    let process = try await ServerProcess.start(
      ServerProcess.Plan(
        program: try ServerPrograms.find("redis-server"), arguments: [file, "--sentinel"], log: log,
        folder: folder.path, deathSignal: "TERM"))
    self.process = process
    Leftovers.add(process, signal: SIGTERM, removing: folder.path)
    let deadline = ContinuousClock.now + .seconds(30)
    while FreePort.isFree(port) {
      if process.hasEnded {
        throw PrivateServerError(.failed, "the sentinel ended at once:\n\(ServerFolder.tail(of: log))")
      }
      if .now > deadline { throw PrivateServerError(.notReady, "the sentinel does not listen on port \(port)") }
      await pause()
    }
  }

  /// Stops the sentinel gracefully.
  public func stop() async { await end(SIGTERM) }
  /// Kills the sentinel as a power loss would.
  public func kill9() async { await end(SIGKILL) }

  private func end(_ signal: Int32) async {
    guard let process else { return }
    process.send(signal)
    await process.end()
    Leftovers.forget(process)
    if self.process === process { self.process = nil }
  }
}
