import Logging
import Reactor

/// A client that all tasks share and that comes back by itself: one connection to a server, to the master that
/// sentinels name, or to each master of a cluster.
///
/// Keep `run()` running beside the tasks that send: it connects, and connects again with growing, jittered pauses when
/// the server goes away. Commands that were on their way then fail with `.connection` and are never sent again
/// silently. Commands sent while there is no connection wait for one, at most `connectTimeout`.
///
/// With sentinels each new connection goes to whoever is master by then; a master that was demoted is left as soon as
/// it refuses to write. In a cluster each command goes to the master of its key's slot and follows when the slot moves;
/// a command without keys goes to any master.
public final class RedisClient: RedisCommandSender {
  public let loop: EventLoop
  public let configuration: RedisConfiguration
  /// All commands go here, unless there is a cluster.
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

  /// Keeps the client connected until the task is cancelled; then closes it for good.
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

  /// `timeout`, but no longer than the current deadline.
  private func limit(_ timeout: Duration?) -> Duration? {
    Deadline.current == nil ? timeout : Deadline.shortened(timeout ?? configuration.commandTimeout)
  }

  // MARK: Connections of one's own

  /// A connection of its own, for commands that block. It does not come back when lost, and in a cluster it does not
  /// follow a slot that moves: on an error that `meansAnotherServer` make a new one. The caller closes it.
  ///
  /// - Parameters:
  ///   - key: in a cluster, a key that tells which master to connect to.
  ///   - commandTimeout: the limit for each reply; longer than the longest block.
  public func dedicatedConnection(
    for key: String? = nil, commandTimeout: Duration
  ) async throws(RedisError) -> RedisConnection {
    if let cluster { return try await cluster.dedicatedConnection(key, commandTimeout: commandTimeout) }
    var place = configuration
    if let sentinels { place = try await sentinels.master() }
    place.commandTimeout = commandTimeout
    return try await RedisConnection.connect(place, loop: loop)
  }

  /// Ends what a connection of one's own waits for, by its `CLIENT ID` on its server.
  public func unblock(_ connection: RedisConnection, clientID: Int) async throws(RedisError) {
    let command = RedisCommand("CLIENT", "UNBLOCK", clientID)
    if let cluster { return try await cluster.send(command, beside: connection) }
    try await send(command)
  }

  /// Tells that a connection of one's own failed, or was answered by a server that is not the right one any more: the
  /// next one is made to the right one as soon as that is known.
  public func note(_ error: RedisError, from connection: RedisConnection) {
    cluster?.note(error, from: connection.endpoint)
  }

  // MARK: Servers

  /// Grows whenever commands may begin to reach another server, or another life of the same one: with each connection
  /// that is made in place of one that was lost, and in a cluster with each change of who has which slots. Two commands
  /// of which the second was sent while the number was still what it was before the first went to the same process.
  public var routeGeneration: Int { routes.value }

  /// Sends commands without keys to every server that holds data: one, or all masters of a cluster.
  ///
  /// - Throws: the first error reply too.
  public func sendToMasters(
    _ commands: [RedisCommand]
  ) async throws(RedisError) -> [(server: String, replies: [RedisValue])] {
    if let cluster { return try await cluster.sendToMasters(commands) }
    let results = try await send(pipeline: commands)
    return [(configuration.displayName, try results.map { result throws(RedisError) in try result.get() })]
  }

  /// Who the masters are and what stands behind them.
  ///
  /// - Throws: what asking the masters throws; that a sentinel is away is part of the answer.
  public func topology() async throws(RedisError) -> RedisTopology {
    if let cluster { return try await cluster.topology() }
    // A master's ROLE: its name, how far it is, its replicas. Who may not ask has no replicas to count.
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
