import Foundation

/// A Redis master, its replicas and the sentinels that watch them, all on ports of 127.0.0.1.
public struct PrivateSentinels: Sendable {
  /// The name of the master.
  public static let name = "fanmill"

  /// The first server starts as the master.
  public let servers: [PrivateRedis]
  public let sentinels: [PrivateSentinel]
  private let password: String?
  private let sentinelPassword: String?

  /// The URL through which clients find the master.
  public var url: String {
    let login = password.map { ":\($0)@" } ?? ""
    let query = sentinelPassword.map { "?sentinel_password=\($0)" } ?? ""
    let hosts = sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
    return "redis+sentinel://\(login)\(hosts)/\(Self.name)\(query)"
  }

  /// Starts all servers and waits until each sentinel knows the others and the replicas: only then can a failover
  /// succeed.
  ///
  /// - Parameters:
  ///   - password: the servers' password.
  ///   - sentinelPassword: the sentinels' password.
  public static func start(
    replicas: Int = 2, downAfter: Int = 2000, password: String? = nil, sentinelPassword: String? = nil
  ) async throws(PrivateServerError) -> PrivateSentinels {
    var options = PrivateRedis.Options()
    options.port = 0
    // Tests have little data: a replica's copy goes over the wire without a file, and immediately.
    options.settings["repl-diskless-sync-delay"] = "0"
    if let password {
      options.settings["requirepass"] = password
      options.settings["masterauth"] = password
    }
    let master = try await PrivateRedis.start(options: options)
    guard let port = master.port else { throw PrivateServerError(.failed, "the master has no port") }
    var servers = [master]
    options.replicaOf = port
    for _ in 0..<replicas { servers.append(try await PrivateRedis.start(options: options)) }
    var watch = PrivateSentinel.Options(name: name, master: port, quorum: 2)
    watch.downAfter = downAfter
    watch.serverPassword = password
    watch.password = sentinelPassword
    var sentinels: [PrivateSentinel] = []
    for _ in 0..<3 { sentinels.append(try await PrivateSentinel.start(watch)) }
    let group = PrivateSentinels(
      servers: servers, sentinels: sentinels, password: password, sentinelPassword: sentinelPassword)
    try await group.waitUntilReady()
    return group
  }

  /// Stops all servers and sentinels.
  public func stop() async {
    for sentinel in sentinels { await sentinel.stop() }
    for server in servers { await server.stop() }
  }

  private func waitUntilReady() async throws(PrivateServerError) {
    let deadline = ContinuousClock.now + .seconds(60)
    var ready = 0
    while ready < sentinels.count {
      let facts = try await ask(sentinels[ready], "SENTINEL", "MASTER", Self.name).split(separator: "\n")
      if value("num-other-sentinels", facts) == sentinels.count - 1, value("num-slaves", facts) == servers.count - 1 {
        ready += 1
        continue
      }
      if .now > deadline { throw PrivateServerError(.notReady, "the sentinels do not find each other") }
      await pause()
    }
    for server in servers.dropFirst() {
      while !(try await run(server, "INFO", "replication")).contains("master_link_status:up") {
        if .now > deadline { throw PrivateServerError(.notReady, "a replica does not reach its master") }
        await pause()
      }
    }
  }

  /// The server that reports itself as master.
  public func master() async throws(PrivateServerError) -> PrivateRedis? {
    for server in servers {
      do throws(PrivateServerError) {
        if try await run(server, "ROLE").hasPrefix("master") { return server }
      } catch {
        // A killed server does not respond.
        continue
      }
    }
    return nil
  }

  /// Sends a command to a sentinel of this group.
  @discardableResult
  public func ask(_ sentinel: PrivateSentinel, _ words: String...) async throws(PrivateServerError) -> String {
    try await RedisTools.run(.port(sentinel.port), sentinelPassword, words)
  }

  private func run(_ server: PrivateRedis, _ words: String...) async throws(PrivateServerError) -> String {
    try await RedisTools.run(.socket(server.socket), password, words)
  }

  private func value(_ name: String, _ lines: [Substring]) -> Int? {
    guard let index = lines.firstIndex(of: name[...]), index + 1 < lines.count else { return nil }
    return Int(lines[index + 1])
  }
}
