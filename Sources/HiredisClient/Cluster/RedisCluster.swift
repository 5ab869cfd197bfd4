import Logging
import Reactor

/// A Redis Cluster: sends each command to the master of its key's slot, and follows moved slots and replaced masters.
struct RedisCluster: Sendable {
  typealias Endpoint = RedisConfiguration.Endpoint

  private let nodes: ClusterNodes

  init(_ configuration: RedisConfiguration, loop: EventLoop, logger: Logger, routes: RouteGeneration) {
    nodes = ClusterNodes(configuration, loop: loop, logger: logger, routes: routes)
  }

  /// Keeps the nodes connected until the task is cancelled; then closes them permanently.
  func run() async { await nodes.run() }

  /// Limits how often and how long one call follows redirections.
  private struct Chase {
    let deadline: ContinuousClock.Instant
    private var backoff = Backoff(base: .milliseconds(10), limit: .milliseconds(200))
    private var redirections = 0

    init(limit: Duration) { deadline = .now + limit }

    /// Whether there is time for another attempt. Pauses first, unless the cluster has just redirected the command.
    mutating func mayGoOn(atOnce: Bool) async throws(RedisError) -> Bool {
      redirections += 1
      // Two nodes that redirect to each other have not agreed yet.
      if atOnce, redirections < 5 { return true }
      if ContinuousClock.now >= deadline { return false }
      do {
        try await Task.sleep(for: backoff.next())
      } catch {
        throw .cancelled
      }
      return true
    }
  }

  /// Sends a command to the master of its slot; see `RedisCommandSender`.
  ///
  /// A command that the cluster refuses temporarily is resent within its limit. A command that may have been executed
  /// is not.
  nonisolated(nonsending) func send<Output: Sendable>(
    _ command: RedisCommand, timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> Output {
    let slot = command.slot
    var chase = Chase(limit: timeout ?? nodes.commandTimeout)
    var asked: Endpoint?
    while true {
      var place = asked
      do throws(RedisError) {
        if let asked {
          return try await nodes.node(at: asked).supervisor.perform(
            RedisAskingRequest(command, timeout: timeout, decode: decode))
        }
        let (endpoint, node) = try nodes.route(slot)
        place = endpoint
        return try await node.supervisor.perform(RedisSingleRequest(command, timeout: timeout, decode: decode))
      } catch {
        guard let redirect = ClusterRedirect(error, asked: place ?? nodes.firstEndpoint) else { throw error }
        asked = nil
        if case .ask(let endpoint) = redirect { asked = endpoint }
        guard try await chase.mayGoOn(atOnce: follow(redirect)) else { throw error }
      }
    }
  }

  /// Sends commands to the masters of their slots; see `RedisCommandSender`.
  ///
  /// Commands of one slot keep their order, unless the cluster redirects some of them.
  nonisolated(nonsending) func send<Output: Sendable>(
    pipeline commands: [RedisCommand], timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> [Result<Output, RedisError>] {
    var results = [Result<Output, RedisError>?](repeating: nil, count: commands.count)
    let slots = commands.map(\.slot)
    var chase = Chase(limit: timeout ?? nodes.commandTimeout)
    var left = Array(commands.indices)
    var asked: [Int: Endpoint] = [:]
    while !left.isEmpty {
      var last: RedisError?
      var isAtOnce = true
      var again: [Int] = []
      for (target, indices) in try parcels(left, slots, asked) {
        let outcome = try await deliver(indices.map { commands[$0] }, to: target, timeout, decode)
        for (index, result) in zip(indices, outcome) {
          results[index] = result
          asked[index] = nil
          guard case .failure(let error) = result,
            let redirect = ClusterRedirect(error, asked: target.endpoint ?? nodes.firstEndpoint)
          else { continue }
          if case .ask(let endpoint) = redirect { asked[index] = endpoint }
          if !follow(redirect) { isAtOnce = false }
          last = error
          again.append(index)
        }
      }
      left = again.sorted()
      guard let last, try await !chase.mayGoOn(atOnce: isAtOnce) else { continue }
      if last.isUnsent { throw last }
      break
    }
    return results.map { $0 ?? .failure(.stopped) }
  }

  /// The next destination of some of a pipeline's commands.
  private enum Target: Hashable {
    case master(Endpoint)
    /// A node that is still importing the slot.
    case asking(Endpoint)
    /// No node: the slot currently has no master.
    case nowhere(RedisError)

    var endpoint: Endpoint? {
      switch self {
      case .master(let endpoint), .asking(let endpoint): endpoint
      case .nowhere: nil
      }
    }
  }

  /// The commands in order, grouped by node.
  private func parcels(
    _ indices: [Int], _ slots: [Int?], _ asked: [Int: Endpoint]
  ) throws(RedisError) -> [(Target, [Int])] {
    var parcels: [(Target, [Int])] = []
    var numbers: [Target: Int] = [:]
    var unkeyed: Target?
    for index in indices {
      let target: Target
      if let endpoint = asked[index] {
        target = .asking(endpoint)
      } else if slots[index] == nil, let unkeyed {
        target = unkeyed
      } else {
        do throws(RedisError) {
          target = .master(try nodes.route(slots[index]).endpoint)
        } catch {
          guard error.isUnsent else { throw error }
          target = .nowhere(error)
        }
        if slots[index] == nil { unkeyed = target }
      }
      if let number = numbers[target] {
        parcels[number].1.append(index)
      } else {
        numbers[target] = parcels.count
        parcels.append((target, [index]))
      }
    }
    return parcels
  }

  private nonisolated(nonsending) func deliver<Output: Sendable>(
    _ commands: [RedisCommand], to target: Target, _ timeout: Duration?,
    _ decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> [Result<Output, RedisError>] {
    switch target {
    case .nowhere(let error): return commands.map { _ in .failure(error) }
    case .master(let endpoint):
      do throws(RedisError) {
        return try await nodes.node(at: endpoint).supervisor.perform(
          RedisPipelineRequest(commands, timeout: timeout, decode: decode))
      } catch {
        guard error.isUnsent else { throw error }
        return commands.map { _ in .failure(error) }
      }
    case .asking(let endpoint):
      let supervisor = try nodes.node(at: endpoint).supervisor
      var results: [Result<Output, RedisError>] = []
      for command in commands {
        do throws(RedisError) {
          results.append(
            .success(
              try await supervisor.perform(RedisAskingRequest(command, timeout: timeout, decode: decode))))
        } catch {
          guard error.code == .server || error.isUnsent else { throw error }
          results.append(.failure(error))
        }
      }
      return results
    }
  }

  /// Records a redirection.
  ///
  /// - Returns: whether it names the next node, so that no pause is needed.
  private func follow(_ redirect: ClusterRedirect) -> Bool {
    switch redirect {
    case .moved(let slot, let endpoint):
      nodes.moved(slot, to: endpoint)
      return true
    case .ask: return true
    case .later, .unsent:
      nodes.mapIsDoubtful()
      return false
    }
  }

  /// Updates the map from an error on a dedicated connection.
  func note(_ error: RedisError, from endpoint: Endpoint) {
    if let redirect = ClusterRedirect(error, asked: endpoint) {
      _ = follow(redirect)
    } else {
      nodes.mapIsDoubtful()
    }
  }

  // MARK: Other commands

  /// A dedicated connection to the master of `key`'s slot.
  func dedicatedConnection(
    _ key: String?, commandTimeout: Duration
  ) async throws(RedisError) -> RedisConnection {
    let slot = key.map { HashSlot.of($0) }
    var chase = Chase(limit: nodes.connectTimeout)
    while true {
      do throws(RedisError) {
        return try await nodes.connect(try nodes.route(slot).endpoint, commandTimeout)
      } catch {
        nodes.mapIsDoubtful()
        guard error.isUnsent, try await chase.mayGoOn(atOnce: false) else { throw error }
      }
    }
  }

  /// Sends commands to every known master, skipping those that do not respond.
  func sendToMasters(
    _ commands: [RedisCommand]
  ) async throws(RedisError) -> [(server: String, replies: [RedisValue])] {
    // This command waits until a map exists, and fails with the reason if there is none.
    _ = try await send(.echo, timeout: nil) { _ throws(RedisError) in }
    var all: [(server: String, replies: [RedisValue])] = []
    var silent: RedisError?
    for endpoint in nodes.map?.masters ?? [] {
      let node = try nodes.node(at: endpoint)
      if node.isTroubled { continue }
      let request = RedisPipelineRequest(commands, timeout: nil) { reply throws(RedisError) in reply.value }
      do throws(RedisError) {
        let results = try await node.supervisor.perform(request)
        all.append(("\(endpoint)", try results.map { result throws(RedisError) in try result.get() }))
      } catch {
        guard error.code == .connection || error.code == .timeout else { throw error }
        silent = error
      }
    }
    if all.isEmpty { throw silent ?? RedisError(.connection, "no master of \(nodes.displayName) is connected") }
    return all
  }

  /// Sends a command over the shared connection to the server that `connection` uses.
  func send(_ command: RedisCommand, beside connection: RedisConnection) async throws(RedisError) {
    let request = RedisSingleRequest(command, timeout: nil) { _ throws(RedisError) in }
    try await nodes.node(at: connection.endpoint).supervisor.perform(request)
  }

  /// The current topology: a node that only became a replica since the last refresh may have disturbed no command.
  func topology() async throws(RedisError) -> RedisTopology {
    await nodes.renewMap()
    let map: SlotMap
    if let known = nodes.map {
      map = known
    } else {
      // This command waits until a map exists, and fails with the reason if there is none.
      _ = try await send(.echo, timeout: nil) { _ throws(RedisError) in }
      map = nodes.map ?? SlotMap()
    }
    let masters = zip(map.masters, map.replicas).map { master, replicas in
      RedisTopology.Master(name: "\(master)", replicas: replicas.count)
    }
    return RedisTopology(masters: masters, uncoveredSlots: nodes.unservedSlots)
  }
}
