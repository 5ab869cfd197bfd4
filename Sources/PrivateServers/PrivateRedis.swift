import Foundation
import Glibc

/// A Redis server in a private folder, on a unix socket and optionally on a port of 127.0.0.1.
///
/// It stops when `stop` is called, and when this program exits or is killed.
public actor PrivateRedis {
  /// The options of a server.
  public struct Options: Sendable {
    /// Also listen on 127.0.0.1 at this port; 0 takes a free one.
    public var port: Int?
    /// Keep an append-only file, so that a restart finds the data.
    public var appendOnly = false
    /// `maxmemory` in Redis's notation, such as `64mb`.
    public var maxMemory: String?
    public var maxMemoryPolicy = "noeviction"
    /// The local port of the master that this server replicates at its first start.
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

  /// Starts a server and waits until it responds.
  ///
  /// - Parameter path: the folder of its data; nil for a temporary folder that is removed with this value.
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

  /// Starts the server again with the same folder and addresses; does nothing if it is running.
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

  /// Stops the server gracefully (SIGTERM); its append-only file, if any, is complete.
  public func stop() async { await end(SIGTERM) }

  /// Kills the server as a power loss would.
  public func kill9() async { await end(SIGKILL) }

  /// Stops the server and starts it in the same place; unsaved data is lost.
  public func restart() async throws(PrivateServerError) {
    await stop()
    try await start()
  }

  /// Runs one command, for set-up before a client exists.
  ///
  /// - Returns: the reply in redis-cli's format, one element per line.
  /// - Throws: `.failed` for an error reply.
  @discardableResult
  public nonisolated func run(_ words: String...) async throws(PrivateServerError) -> String {
    try await RedisTools.run(.socket(socket), options.settings["requirepass"], words)
  }

  /// Suspends the server (SIGSTOP): connections stay open and nothing is answered until `thaw()`.
  public func freeze() { process?.send(SIGSTOP) }
  /// Resumes a suspended server.
  public func thaw() { process?.send(SIGCONT) }

  private func end(_ signal: Int32) async {
    guard let process else { return }
    process.send(signal)
    // A suspended server handles the signal only once resumed.
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
    // Redis searches for a finished job from the start of its stream node: small nodes halve Redis's time per job.
    settings.append(("--stream-node-max-entries", ["16"]))
    if let master = options.replicaOf { settings.append(("--replicaof", ["127.0.0.1", String(master)])) }
    if let maxMemory = options.maxMemory { settings.append(("--maxmemory", [maxMemory])) }
    for (name, value) in options.settings.sorted(by: { $0.key < $1.key }) { settings.append(("--" + name, [value])) }
    return settings.flatMap { [$0.0] + $0.1 }
  }

  /// Whether a PING gets a reply. A local socket replies or refuses immediately; the timeout is for a server that is
  /// loading.
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
    // A server that requires a password is up as well.
    return count >= 5 && (reply.starts(with: "+PONG".utf8) || reply.starts(with: "-NOAUTH".utf8))
  }
}

/// A short pause in a loop that waits for a server. Cancellation does not interrupt it; it is short enough to wait out.
func pause() async {
  await withCheckedContinuation { continuation in
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(4)) { continuation.resume() }
  }
}
