import Foundation
import Glibc

/// A Redis server in a folder of its own, on a unix socket and, if asked, on a port of 127.0.0.1.
///
/// It ends when it is stopped, when this program exits, and when this program is killed.
public actor PrivateRedis {
  /// How a server is started.
  public struct Options: Sendable {
    /// Also listen on 127.0.0.1 at this port; 0 takes a free one.
    public var port: Int?
    /// Keep an append-only file, so that a restart finds the data.
    public var appendOnly = false
    /// `maxmemory` as Redis writes it, such as `64mb`.
    public var maxMemory: String?
    public var maxMemoryPolicy = "noeviction"
    /// The port of the server on 127.0.0.1 of which this one is a replica at its first start.
    public var replicaOf: Int?
    /// Further settings, by name.
    public var settings: [String: String] = [:]

    public init() {}
  }

  public nonisolated let socket: String
  public nonisolated let port: Int?
  private nonisolated let options: Options
  private nonisolated let folder: ServerFolder
  private var process: ServerProcess?

  /// The server's address on its unix socket.
  public nonisolated var url: String { "unix://\(socket)" }
  /// The server's address on 127.0.0.1, if it listens there.
  public nonisolated var tcpURL: String? { port.map { "redis://127.0.0.1:\($0)" } }
  public nonisolated var log: String { folder.path + "/redis.log" }

  /// Starts a server and waits until it answers.
  ///
  /// - Parameter path: where its data live; nil is a fresh temporary folder that goes with this value.
  public static func start(in path: String? = nil, options: Options = Options()) async throws(PrivateServerError)
    -> PrivateRedis
  {
    let redis = try PrivateRedis(ServerFolder(path), options)
    try await redis.start()
    return redis
  }

  private init(_ folder: ServerFolder, _ options: Options) throws(PrivateServerError) {
    self.folder = folder
    self.options = options
    socket = try SocketFolder.path(for: folder.path) + "/redis.sock"
    try ServerFolder.check(socket: socket)
    port = if let port = options.port { port == 0 ? try FreePort.find() : port } else { nil }
  }

  deinit {
    process?.send(SIGKILL)
    if let process { Leftovers.forget(process) }
  }

  /// Starts the server again, on the same folder and addresses. Nothing happens if it runs.
  public func start() async throws(PrivateServerError) {
    if let process, !process.hasEnded { return }
    let program = try ServerPrograms.find("redis-server")
    let process = try await ServerProcess.start(
      ServerProcess.Plan(program: program, arguments: arguments, log: log, folder: folder.path, deathSignal: "TERM"))
    self.process = process
    Leftovers.add(process, signal: SIGTERM, removing: folder.isTemporary ? folder.path : nil)
    let deadline = ContinuousClock.now + .seconds(30)
    while !answers() {
      if process.hasEnded {
        throw PrivateServerError(.failed, "redis-server ended at once:\n\(ServerFolder.tail(of: log))")
      }
      if .now > deadline { throw PrivateServerError(.notReady, "redis-server does not answer on \(socket)") }
      await pause()
    }
  }

  /// Ends the server in order (SIGTERM); its append-only file, if it has one, is complete.
  public func stop() async { await end(SIGTERM) }

  /// Ends the server as a power cut would.
  public func kill9() async { await end(SIGKILL) }

  /// Stops the server and starts it in the same place; what it had not saved is gone.
  public func restart() async throws(PrivateServerError) {
    await stop()
    try await start()
  }

  /// Runs one command; for set-up, where no client is at hand yet.
  ///
  /// - Returns: the reply as redis-cli writes it, a line each element.
  /// - Throws: `.failed` for an error reply.
  @discardableResult
  public nonisolated func run(_ words: String...) async throws(PrivateServerError) -> String {
    try await RedisTools.run(.socket(socket), options.settings["requirepass"], words)
  }

  /// Holds the server still (SIGSTOP): connections stay open and nothing is answered, until `thaw()`.
  public func freeze() { process?.send(SIGSTOP) }
  /// Lets a frozen server go on.
  public func thaw() { process?.send(SIGCONT) }

  private func end(_ signal: Int32) async {
    guard let process else { return }
    process.send(signal)
    // A server held still takes the signal only when it goes on.
    process.send(SIGCONT)
    await process.end()
    Leftovers.forget(process)
    if self.process === process { self.process = nil }
  }

  private var arguments: [String] {
    var settings: [(String, [String])] = [
      ("--dir", [folder.path]), ("--unixsocket", [socket]), ("--unixsocketperm", ["777"]),
      ("--port", [String(port ?? 0)]),
      ("--bind", ["127.0.0.1"]), ("--save", [""]), ("--daemonize", ["no"]), ("--logfile", [""]),
      ("--appendonly", [options.appendOnly ? "yes" : "no"]), ("--maxmemory-policy", [options.maxMemoryPolicy]),
    ]
    // A job that ends is looked for from the beginning of its stream's node: small nodes halve Redis' time a job.
    settings.append(("--stream-node-max-entries", ["16"]))
    if let master = options.replicaOf { settings.append(("--replicaof", ["127.0.0.1", String(master)])) }
    if let maxMemory = options.maxMemory { settings.append(("--maxmemory", [maxMemory])) }
    for (name, value) in options.settings.sorted(by: { $0.key < $1.key }) { settings.append(("--" + name, [value])) }
    return settings.flatMap { [$0.0] + $0.1 }
  }

  /// Whether a PING is answered. A local socket answers or refuses at once; the time-out is for a server that loads.
  private func answers() -> Bool {
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var timeout = timeval(tv_sec: 0, tv_usec: 50_000)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socket.utf8) }
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard connected, write(descriptor, "PING\r\n", 6) == 6 else { return false }
    var reply = [UInt8](repeating: 0, count: 64)
    let count = read(descriptor, &reply, reply.count)
    // One that asks for a password first is there as well.
    return count >= 5 && (reply.starts(with: "+PONG".utf8) || reply.starts(with: "-NOAUTH".utf8))
  }
}

/// One short wait of a loop that looks whether a server is ready yet. A cancelled task looks on without waiting for
/// long.
func pause() async {
  await withCheckedContinuation { continuation in
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(4)) { continuation.resume() }
  }
}
