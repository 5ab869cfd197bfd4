import Logging
import Reactor

/// A client that all tasks share and that reconnects automatically: one connection to a server, to the master that
/// sentinels name, or to each master of a cluster.
///
/// Keep `run()` running beside the tasks that send. It connects, and reconnects with growing, jittered pauses when the
/// server goes away. Commands in flight then fail with `.connection` and are never silently resent. Commands sent while
/// disconnected wait for a connection, at most `connectTimeout`.
///
/// With sentinels, each new connection goes to the current master; a demoted master is dropped as soon as it refuses a
/// write. In a cluster, each command goes to the master of its key's slot and follows the slot when it moves; a command
/// without keys goes to any master.
public final class RedisClient: RedisCommandSender {
  public let loop: EventLoop
  public let configuration: RedisConfiguration
  /// The node for all commands, unless there is a cluster.
  private let node: RedisNode
  private let cluster: RedisCluster?
  private let sentinels: RedisSentinels?
  private let routes = RouteGeneration()

  public init(configuration: RedisConfiguration, loop: EventLoop, logger: Logger) {
    self.configuration = configuration
    self.loop = loop
    switch configuration.topology {
    case .server:
      node = RedisNode(
        configuration, loop: loop, logger: logger, routes: routes, locate: { () throws(RedisError) in configuration })
      (cluster, sentinels) = (nil, nil)
    case .sentinel(let sentinel):
      let sentinels = RedisSentinels(configuration, sentinel, loop: loop)
      node = RedisNode(
        configuration, loop: loop, logger: logger, pauseLimit: .milliseconds(500), routes: routes,
        locate: { () async throws(RedisError) in try await sentinels.master() })
      (cluster, self.sentinels) = (nil, sentinels)
    case .cluster:
      node = RedisNode(
        configuration, loop: loop, logger: logger, routes: routes, locate: { () throws(RedisError) in configuration })
      (cluster, sentinels) = (RedisCluster(configuration, loop: loop, logger: logger, routes: routes), nil)
    }
  }

  /// Keeps the client connected until the task is cancelled; then closes it permanently.
  public func run() async {
    if let cluster {
      await cluster.run()
    } else {
      await node.run { .stopped }
    }
  }

  public nonisolated(nonsending) func send<Output: Sendable>(
    _ command: RedisCommand, timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> Output {
    let timeout = limit(timeout)
    if let cluster { return try await cluster.send(command, timeout: timeout, decode: decode) }
    return try await node.supervisor.perform(RedisSingleRequest(command, timeout: timeout, decode: decode))
  }

  public nonisolated(nonsending) func send<Output: Sendable>(
    pipeline commands: [RedisCommand], timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> [Result<Output, RedisError>] {
    if commands.isEmpty { return [] }
    let timeout = limit(timeout)
    if let cluster { return try await cluster.send(pipeline: commands, timeout: timeout, decode: decode) }
    return try await node.supervisor.perform(RedisPipelineRequest(commands, timeout: timeout, decode: decode))
  }

  /// `timeout`, limited by the current deadline.
  private func limit(_ timeout: Duration?) -> Duration? {
    Deadline.current == nil ? timeout : Deadline.shortened(timeout ?? configuration.commandTimeout)
  }

  // MARK: Dedicated connections

  /// A dedicated connection, for blocking commands. It does not reconnect when lost, and in a cluster it does not
  /// follow a moved slot: on an error that `meansAnotherServer`, open a new one. The caller closes it.
  ///
  /// - Parameters:
  ///   - key: in a cluster, the key whose master to connect to.
  ///   - commandTimeout: the limit for each reply; must exceed the longest block.
  public func dedicatedConnection(
    for key: String? = nil, commandTimeout: Duration
  ) async throws(RedisError) -> RedisConnection {
    if let cluster { return try await cluster.dedicatedConnection(key, commandTimeout: commandTimeout) }
    var place = configuration
    if let sentinels { place = try await sentinels.master() }
    place.commandTimeout = commandTimeout
    return try await RedisConnection.connect(place, loop: loop)
  }

  /// Unblocks a dedicated connection by its `CLIENT ID` on its server.
  public func unblock(_ connection: RedisConnection, clientID: Int) async throws(RedisError) {
    let command = RedisCommand("CLIENT", "UNBLOCK", clientID)
    if let cluster { return try await cluster.send(command, beside: connection) }
    try await send(command)
  }

  /// Reports that a dedicated connection failed, or reached a server that is no longer the right one. The next
  /// dedicated connection goes to the right server as soon as it is known.
  public func note(_ error: RedisError, from connection: RedisConnection) {
    cluster?.note(error, from: connection.endpoint)
  }

  // MARK: Servers

  /// Increases whenever commands may begin to reach another server or a restarted one: with each connection that
  /// replaces a lost one, and in a cluster with each change of slot owners. If the number is unchanged from before the
  /// first of two commands until the second is sent, both went to the same process.
  public var routeGeneration: Int { routes.value }

  /// Sends keyless commands to every server that holds data: one server, or all masters of a cluster.
  ///
  /// - Throws: also the first error reply.
  public func sendToMasters(
    _ commands: [RedisCommand]
  ) async throws(RedisError) -> [(server: String, replies: [RedisValue])] {
    if let cluster { return try await cluster.sendToMasters(commands) }
    let results = try await send(pipeline: commands)
    return [(configuration.displayName, try results.map { result throws(RedisError) in try result.get() })]
  }

  /// The masters and their replicas and sentinels.
  ///
  /// - Throws: the error of querying the masters; an unreachable sentinel is part of the result.
  public func topology() async throws(RedisError) -> RedisTopology {
    if let cluster { return try await cluster.topology() }
    // A master's ROLE: its name, its offset, its replicas. A user without permission sees no replicas.
    let replicas: Int
    do throws(RedisError) {
      let role = try await send(RedisCommand("ROLE")).elements ?? []
      replicas = role.count > 2 ? role[2].elements?.count ?? 0 : 0
    } catch {
      guard error.code == .server else { throw error }
      replicas = 0
    }
    return RedisTopology(
      masters: [RedisTopology.Master(name: configuration.displayName, replicas: replicas)],
      sentinels: await sentinels?.standing())
  }
}
