import Foundation
import Glibc

/// A Postgres server with a private cluster in a folder, on a unix socket and optionally on a port of 127.0.0.1.
///
/// Run as root, it switches to the user `postgres`, because Postgres refuses root. It stops when `stop` is called, and
/// when this program exits or is killed. Every local user who can reach the socket is trusted.
public actor PrivatePostgres {
  /// The options of a server.
  public struct Options: Sendable {
    /// Also listen on 127.0.0.1 at this port; 0 takes a free one.
    public var port: Int?
    /// The server's settings, by name.
    public var settings: [String: String]
    /// Whether a new temporary folder is in memory, if the machine has plenty.
    public var isInMemory = false

    public init(settings: [String: String], port: Int? = nil) {
      self.settings = settings
      self.port = port
    }

    /// Commits survive a power loss; sized for a machine that also runs the workers.
    public static let durable = Options(settings: [
      "fsync": "on", "synchronous_commit": "on", "wal_compression": "lz4", "shared_buffers": "512MB",
      "max_wal_size": "4GB",
      "min_wal_size": "1GB", "checkpoint_timeout": "15min", "track_io_timing": "off", "max_connections": "300",
    ])

    /// For tests: no waiting for the disk. A `kill -9` loses nothing, a power loss everything.
    public static let tests: Options = {
      var options = Options(settings: [
        "fsync": "off", "full_page_writes": "off", "shared_buffers": "128MB", "max_connections": "300",
        "autovacuum_naptime": "5s",
      ])
      options.isInMemory = true
      return options
    }()
  }

  /// The folder of the unix socket, as libpq's `host` takes it.
  public nonisolated let socketFolder: String
  public nonisolated let port: Int?
  public nonisolated var log: String { base.path + "/postgres.log" }
  /// The superuser that every connection uses.
  public nonisolated let user = "postgres"

  private let base: ServerFolder
  private let data: String
  private let options: Options
  private let account: ServerAccount
  private var process: ServerProcess?

  /// The address of `database` on the unix socket.
  public nonisolated func url(database: String = "postgres") -> String {
    let host = socketFolder.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? socketFolder
    return "postgresql://\(user)@/\(database)?host=\(host)" + (port.map { "&port=\($0)" } ?? "")
  }

  /// The address of the database `postgres` on the unix socket.
  public nonisolated var url: String { url(database: "postgres") }

  /// The address of `database` on 127.0.0.1, if the server listens there.
  public nonisolated func tcpURL(database: String = "postgres") -> String? {
    port.map { "postgresql://\(user)@127.0.0.1:\($0)/\(database)" }
  }

  /// Starts a server and waits until it accepts connections. A folder without a cluster gets a new one.
  ///
  /// - Parameter path: the folder of its data; nil for a temporary folder that is removed with this value.
  public static func start(in path: String? = nil, options: Options) async throws(PrivateServerError) -> PrivatePostgres
  {
    let account = ServerAccount.current
    var folder = try ServerFolder(path, isInMemory: options.isInMemory)
    if !account.canEnter(folder.path) {
      // For example, a clone under /root: the data goes where the user postgres can reach it, always to the same place.
      folder = try ServerFolder(SocketFolder.short(for: folder.path, under: "/var/tmp"))
    }
    let server = try PrivatePostgres(folder, account, options)
    try await server.start()
    return server
  }

  /// Creates a standby of `primary` (`pg_basebackup`, streaming replication), and waits until it accepts read
  /// connections.
  ///
  /// - Parameter options: settings at least as large as the primary's where Postgres requires that of a standby.
  public static func standby(
    of primary: PrivatePostgres, options: Options
  ) async throws(PrivateServerError) -> PrivatePostgres {
    let server = try PrivatePostgres(
      ServerFolder(nil, isInMemory: options.isInMemory), ServerAccount.current, options)
    try await server.copy(primary)
    try await server.start()
    return server
  }

  private func copy(_ primary: PrivatePostgres) async throws(PrivateServerError) {
    try account.makeOwnFolder(data, mode: 0o700)
    let plan = ServerProcess.Plan(
      program: try ServerPrograms.find("pg_basebackup"),
      arguments: [
        "-D", data, "-h", primary.socketFolder, "-p", String(primary.port ?? 5432), "-U", primary.user,
        // `-R` makes it a standby; the rest avoids waiting for a checkpoint or the disk.
        "-R", "-X", "stream", "-c", "fast", "--no-sync",
      ],
      log: base.path + "/basebackup.log", folder: base.path, user: account.name)
    guard try await ServerProcess.run(plan) == 0 else {
      throw PrivateServerError(.failed, "pg_basebackup failed:\n\(ServerFolder.tail(of: plan.log))")
    }
  }

  /// Promotes a standby to primary (`pg_ctl promote`); returns once it accepts writes.
  public func promote() async throws(PrivateServerError) {
    let plan = ServerProcess.Plan(
      program: try ServerPrograms.find("pg_ctl"), arguments: ["promote", "-D", data, "-w"],
      log: base.path + "/promote.log", folder: base.path, user: account.name)
    guard try await ServerProcess.run(plan) == 0 else {
      throw PrivateServerError(.failed, "pg_ctl promote failed:\n\(ServerFolder.tail(of: plan.log))")
    }
  }

  private init(_ base: ServerFolder, _ account: ServerAccount, _ options: Options) throws(PrivateServerError) {
    self.base = base
    self.account = account
    self.options = options
    data = base.path + "/data"
    socketFolder = try SocketFolder.path(
      for: base.path + "/run", usable: base.path.utf8.count + 4 <= SocketFolder.longest)
    port = if let port = options.port { port == 0 ? try FreePort.find() : port } else { nil }
    try account.makeOwnFolder(socketFolder, mode: 0o755)
  }

  deinit {
    process?.send(SIGKILL)
    if let process { Leftovers.forget(process) }
  }

  /// Starts the server again with the same folder and addresses; does nothing if it is running.
  public func start() async throws(PrivateServerError) {
    if let process, !process.hasEnded { return }
    try await makeClusterIfMissing()
    let deadline = ContinuousClock.now + .seconds(60)
    while !(try await startOnce(deadline)) {
      // After a kill -9, the last server's children take a moment to exit; until then the new one refuses to start.
      guard .now < deadline, ServerFolder.tail(of: log).contains("pre-existing shared memory") else {
        throw PrivateServerError(.failed, "postgres ended at once:\n\(ServerFolder.tail(of: log))")
      }
      await pause()
    }
  }

  /// Stops the server gracefully (`-m fast`): rolls back open transactions and writes a checkpoint.
  public func stop() async { await end(SIGINT) }

  /// Stops the server without a checkpoint (`-m immediate`): the next start recovers from the log.
  public func stopImmediate() async { await end(SIGQUIT) }

  /// Kills the postmaster as the kernel does when memory runs out; its children exit by themselves.
  public func kill9() async { await end(SIGKILL) }

  /// Suspends the server and all of its sessions (SIGSTOP): connections stay open, the kernel accepts new ones, and
  /// nothing is answered until `thaw()`.
  public func freeze() { signalAll(SIGSTOP) }

  public func thaw() { signalAll(SIGCONT) }

  /// The postmaster first: once suspended, it starts no more sessions.
  private func signalAll(_ signal: Int32) {
    guard let process else { return }
    process.send(signal)
    for pid in Self.children(of: process.pid) { kill(pid, signal) }
  }

  /// Finds sessions by their parent, because each is in a separate process group.
  private static func children(of parent: pid_t) -> [pid_t] {
    let text = FileManager.default.contents(atPath: "/proc/\(parent)/task/\(parent)/children") ?? Data()
    return String(decoding: text, as: UTF8.self).split(separator: " ").compactMap { pid_t($0) }
  }

  /// Stops the server gracefully and starts it in the same place.
  public func restart() async throws(PrivateServerError) {
    await stop()
    try await start()
  }

  /// Runs `sql` in `database`; multiple statements form one transaction. For set-up before a client exists.
  ///
  /// - Returns: the rows of all results, one per line, columns separated by `|`.
  @discardableResult
  public nonisolated func run(_ sql: String, database: String = "postgres") async throws(PrivateServerError) -> String {
    try await PostgresTools(socketFolder: socketFolder, port: port ?? 5432).run(sql, database)
  }

  private func end(_ signal: Int32) async {
    guard let process else { return }
    process.send(signal)
    await process.end()
    Leftovers.forget(process)
    if self.process === process { self.process = nil }
  }

  private func makeClusterIfMissing() async throws(PrivateServerError) {
    if FileManager.default.fileExists(atPath: data + "/PG_VERSION") { return }
    try account.makeOwnFolder(data, mode: 0o700)
    let plan = ServerProcess.Plan(
      program: try ServerPrograms.find("initdb"),
      // Text sorts by bytes, which suits indexes; Unicode defines letters.
      arguments: [
        "-D", data, "-U", user, "-A", "trust", "-E", "UTF8", "--lc-collate=C", "--lc-ctype=C.UTF-8", "--no-sync",
        "--no-instructions",
      ],
      log: base.path + "/initdb.log", folder: base.path, user: account.name)
    guard try await ServerProcess.run(plan) == 0 else {
      throw PrivateServerError(.failed, "initdb failed in \(data):\n\(ServerFolder.tail(of: plan.log))")
    }
  }

  /// Starts the server and waits until it is ready; returns false if it exits first.
  private func startOnce(_ deadline: ContinuousClock.Instant) async throws(PrivateServerError) -> Bool {
    var arguments = ["-D", data, "-k", socketFolder, "-p", String(port ?? 5432)]
    arguments += ["-c", "listen_addresses=\(port == nil ? "" : "127.0.0.1")"]
    for (name, value) in options.settings.sorted(by: { $0.key < $1.key }) { arguments += ["-c", "\(name)=\(value)"] }
    let process = try await ServerProcess.start(
      ServerProcess.Plan(
        program: ServerPrograms.find("postgres"), arguments: arguments, log: log, folder: base.path, user: account.name,
        deathSignal: "INT"))
    self.process = process
    Leftovers.add(process, signal: SIGQUIT, removing: base.isTemporary ? base.path : nil)
    while !isReady(process.pid) {
      if process.hasEnded {
        Leftovers.forget(process)
        self.process = nil
        return false
      }
      if .now > deadline { throw PrivateServerError(.notReady, "postgres is not ready after 60 seconds: see \(log)") }
      await pause()
    }
    return true
  }

  /// Whether the server `pid` is ready, according to the pid and state in `postmaster.pid`.
  private func isReady(_ pid: pid_t) -> Bool {
    guard let bytes = FileManager.default.contents(atPath: data + "/postmaster.pid") else { return false }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    // A standby reports this state once it accepts read connections.
    return lines.count >= 8 && lines[0] == String(pid)
      && (lines[7].hasPrefix("ready") || lines[7].hasPrefix("standby"))
  }
}
