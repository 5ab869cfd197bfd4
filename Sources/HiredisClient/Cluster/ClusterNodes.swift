import Locking
import Logging
import Reactor

/// The nodes of a Redis Cluster and their slots, as far as known: learned from the nodes, and refreshed when slots move
/// or masters are replaced.
///
/// Each master has one supervised connection, so concurrent commands are pipelined per master as with a single server.
final class ClusterNodes: Sendable {
  typealias Endpoint = RedisConfiguration.Endpoint

  /// A master in use.
  private struct Member {
    let node: RedisNode
    /// Finished when the node is to be dropped.
    let stay: AsyncStream<Void>
    let leave: AsyncStream<Void>.Continuation
  }

  private struct State {
    var map: SlotMap?
    /// The newest epoch reported by any node; answers with an older one are out of date.
    var epoch = 0
    /// The number of slots with a healthy master, as a node reported.
    var servedSlots = 0
    var members: [Endpoint: Member] = [:]
    var trouble: RedisError?
    var isFinished = false
  }

  private let configuration: RedisConfiguration
  private let loop: EventLoop
  private let logger: Logger
  private let routes: RouteGeneration
  private let state = Locked(State())
  private let joining: AsyncStream<(Endpoint, Member)>
  private let join: AsyncStream<(Endpoint, Member)>.Continuation
  private let refreshing: AsyncStream<Void>
  private let refresh: AsyncStream<Void>.Continuation

  init(_ configuration: RedisConfiguration, loop: EventLoop, logger: Logger, routes: RouteGeneration) {
    self.routes = routes
    self.configuration = configuration
    self.loop = loop
    self.logger = logger
    (joining, join) = AsyncStream.makeStream(of: (Endpoint, Member).self)
    (refreshing, refresh) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    refresh.yield()
  }

  // MARK: Lifecycle

  /// Keeps the nodes connected until the task is cancelled; then closes them permanently.
  func run() async {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.keepMap() }
      for await (endpoint, member) in joining {
        group.addTask { await self.keep(member, at: endpoint) }
      }
      state.withLock { $0.isFinished = true }
    }
  }

  /// Keeps one node connected for as long as it stays in use.
  private func keep(_ member: Member, at endpoint: Endpoint) async {
    await withDiscardingTaskGroup { group in
      group.addTask {
        await member.node.run {
          self.state.withLock { $0.isFinished }
            ? .stopped : RedisError(.connection, "\(endpoint) is no longer a master of the cluster", isUnsent: true)
        }
      }
      for await _ in member.stay {}
      group.cancelAll()
    }
  }

  /// Refreshes the map when a command shows that it is out of date.
  private func keepMap() async {
    for await _ in refreshing {
      await renewMap()
      // Many commands notice at once; one refresh serves them all.
      do { try await Task.sleep(for: .milliseconds(50)) } catch { return }
    }
  }

  func mapIsDoubtful() { refresh.yield() }

  // MARK: Routing

  /// The master to send to: the master of `slot`, or any master if it is nil.
  ///
  /// - Throws: `.connection`, marked as not sent, while the slot has no known master.
  func route(_ slot: Int?) throws(RedisError) -> (endpoint: Endpoint, node: RedisNode) {
    let (found, trouble) = state.withLock { state -> ((Endpoint, RedisNode)?, RedisError?) in
      if state.isFinished { return (nil, .stopped) }
      guard let map = state.map else { return (nil, state.trouble) }
      let endpoint = slot.map { map[$0] } ?? Self.anyMaster(map, state.members)
      return (endpoint.map { ($0, member($0, &state).node) }, state.trouble)
    }
    if let found { return found }
    if let trouble, trouble.code == .configuration || trouble.code == .closed { throw trouble }
    let cause = trouble.map { ": \($0.message)" } ?? ""
    let what = slot.map { "has no master for slot \($0) now" } ?? "is not known yet"
    throw RedisError(.connection, "\(configuration.displayName) \(what)\(cause)", isUnsent: true)
  }

  /// The node at `endpoint`, as named by another node.
  func node(at endpoint: Endpoint) throws(RedisError) -> RedisNode {
    let node = state.withLock { state in state.isFinished ? nil : member(endpoint, &state).node }
    guard let node else { throw .stopped }
    return node
  }

  /// Records that a slot belongs to another node, and requests a refresh for further changes.
  func moved(_ slot: Int, to endpoint: Endpoint) {
    state.withLock { state in
      routes.advance()
      state.map?.move(slot, to: endpoint)
    }
    mapIsDoubtful()
  }

  var unservedSlots: Int { HashSlot.count - state.withLock { $0.servedSlots } }

  /// The known part of the map.
  var map: SlotMap? { state.withLock { $0.map } }

  private static func anyMaster(_ map: SlotMap, _ members: [Endpoint: Member]) -> Endpoint? {
    map.masters.filter { members[$0]?.node.isTroubled != true }.randomElement() ?? map.masters.randomElement()
  }

  /// The member at `endpoint`, added if new.
  private func member(_ endpoint: Endpoint, _ state: inout State) -> Member {
    if let member = state.members[endpoint] { return member }
    let place = configuration.server(at: endpoint)
    let (stay, leave) = AsyncStream.makeStream(of: Void.self)
    let node = RedisNode(
      place, loop: loop, logger: logger, pauseLimit: .milliseconds(500), routes: routes,
      locate: { () throws(RedisError) in place }, onTrouble: { [refresh] in refresh.yield() })
    let member = Member(node: node, stay: stay, leave: leave)
    state.members[endpoint] = member
    join.yield((endpoint, member))
    return member
  }

  var commandTimeout: Duration { configuration.commandTimeout }
  var connectTimeout: Duration { configuration.connectTimeout }
  var firstEndpoint: Endpoint { configuration.endpoint }
  var displayName: String { configuration.displayName }

  func connect(_ endpoint: Endpoint, _ commandTimeout: Duration) async throws(RedisError) -> RedisConnection {
    var place = configuration.server(at: endpoint)
    place.commandTimeout = commandTimeout
    return try await RedisConnection.connect(place, loop: loop)
  }

  // MARK: The map

  private struct Answer: Sendable {
    var map: SlotMap
    var epoch: Int
    var servedSlots: Int
    var isComplete: Bool
  }

  /// Asks all nodes at once and takes the first answer that is complete and current.
  func renewMap() async {
    let known = map?.nodes ?? []
    let places = known + configuration.endpoints.filter { !known.contains($0) }
    var trouble: RedisError?
    let answer = await withTaskGroup(of: Result<Answer, RedisError>.self) { group -> Answer? in
      for place in places {
        group.addTask {
          do throws(RedisError) { return .success(try await self.ask(place)) } catch { return .failure(error) }
        }
      }
      defer { group.cancelAll() }
      for await result in group {
        switch result {
        case .success(let answer) where isNews(answer): return answer
        case .success:
          trouble = RedisError(.connection, "the cluster is down (cluster_state is not ok)")
        case .failure(let error):
          if trouble?.code != .configuration { trouble = error }
        }
      }
      return nil
    }
    if Task.isCancelled { return }
    guard let answer else {
      let isNew = state.withLock { state in
        defer { state.trouble = trouble }
        return state.trouble == nil
      }
      if isNew, let trouble {
        logger.warning("could not get the cluster's masters", metadata: ["error": "\(trouble)"])
      }
      do { try await Task.sleep(for: .milliseconds(100)) } catch { return }
      return mapIsDoubtful()
    }
    adopt(answer)
  }

  private func isNews(_ answer: Answer) -> Bool {
    answer.isComplete && answer.epoch >= state.withLock { $0.epoch }
  }

  private func adopt(_ answer: Answer) {
    let left = state.withLock { state -> [Member] in
      if state.map != answer.map { routes.advance() }
      state.map = answer.map
      state.epoch = answer.epoch
      state.servedSlots = answer.servedSlots
      state.trouble = nil
      let replicas = Set(answer.map.replicas.joined())
      let masters = Set(answer.map.masters)
      // A master without slots is not in the map but may be about to get some: it stays while it is healthy.
      let gone = state.members.filter { endpoint, member in
        !masters.contains(endpoint) && (replicas.contains(endpoint) || member.node.isTroubled)
      }
      for endpoint in gone.keys { state.members[endpoint] = nil }
      return Array(gone.values)
    }
    for member in left { member.leave.finish() }
  }

  private func ask(_ endpoint: Endpoint) async throws(RedisError) -> Answer {
    var place = configuration.server(at: endpoint)
    place.connectTimeout = min(place.connectTimeout, .seconds(1))
    place.commandTimeout = place.connectTimeout
    let connection = try await RedisConnection.connect(place, loop: loop)
    let answers: [Result<RedisValue, RedisError>]
    do throws(RedisError) {
      answers = try await connection.send(
        pipeline: [RedisCommand("CLUSTER", "INFO"), RedisCommand("CLUSTER", "SLOTS")])
    } catch {
      await connection.close()
      throw error
    }
    await connection.close()
    do throws(RedisError) {
      let facts = try answers[0].get().text ?? ""
      func number(_ name: String) -> Int {
        facts.split(whereSeparator: \.isNewline).first { $0.hasPrefix(name) }.flatMap { Int($0.dropFirst(name.count)) }
          ?? 0
      }
      return Answer(
        map: try SlotMap(try answers[1].get(), asked: endpoint), epoch: number("cluster_current_epoch:"),
        servedSlots: number("cluster_slots_ok:"), isComplete: facts.contains("cluster_state:ok"))
    } catch {
      guard error.message.contains("cluster support disabled") else { throw error }
      throw RedisError(.configuration, "\(endpoint) is a standalone server, not a cluster node; use redis://")
    }
  }
}

extension RedisError {
  static let stopped = RedisError(.closed, "the Redis client was stopped")
}
