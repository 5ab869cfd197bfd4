import Foundation

/// A Redis Cluster on ports of 127.0.0.1: masters that share the slots evenly, and their replicas.
public struct PrivateRedisCluster: Sendable {
  /// The masters first, then the replicas in rounds: each round has one per master.
  public let nodes: [PrivateRedis]
  public let masterCount: Int
  /// The nodes' ids, in their order.
  let ids: [String]

  /// The URL from which clients discover the cluster.
  public var url: String {
    "redis+cluster://" + nodes.map { "127.0.0.1:\($0.port ?? 0)" }.joined(separator: ",")
  }

  private static let slots = 16384

  /// Starts all nodes, forms the cluster and waits until all nodes agree and all replicas are in sync.
  ///
  /// - Parameters:
  ///   - nodeTimeout: how long a node may be silent, in milliseconds, before a replica replaces it. Make it long if no
  ///     failover is wanted: on a busy machine, a healthy node may be silent for seconds.
  ///   - settings: further settings of each node, by name.
  public static func start(
    masters: Int = 3, replicasEach: Int = 1, nodeTimeout: Int = 2000, settings: [String: String] = [:]
  ) async throws(PrivateServerError) -> PrivateRedisCluster {
    var nodes: [PrivateRedis] = []
    var ids: [String] = []
    for _ in 0..<masters * (1 + replicasEach) {
      var options = PrivateRedis.Options()
      options.port = 0
      options.settings = [
        "cluster-enabled": "yes", "cluster-node-timeout": String(nodeTimeout),
        "cluster-port": String(try FreePort.find()), "cluster-replica-validity-factor": "0",
        "cluster-require-full-coverage": "no",
        "repl-diskless-sync-delay": "0",
      ].merging(settings) { $1 }
      let node = try await PrivateRedis.start(options: options)
      nodes.append(node)
      ids.append(try await node.run("CLUSTER", "MYID"))
    }
    let cluster = PrivateRedisCluster(nodes: nodes, masterCount: masters, ids: ids)
    try await cluster.form()
    return cluster
  }

  /// Stops all nodes.
  public func stop() async { for node in nodes { await node.stop() } }

  private func form() async throws(PrivateServerError) {
    for index in 0..<masterCount {
      let first = index * Self.slots / masterCount
      let last = (index + 1) * Self.slots / masterCount - 1
      try await nodes[index].run("CLUSTER", "ADDSLOTSRANGE", String(first), String(last))
      // Two masters with the same epoch would first have to settle which is newer.
      try await nodes[index].run("CLUSTER", "SET-CONFIG-EPOCH", String(index + 1))
    }
    for node in nodes.dropFirst() {
      let busPort = try await node.run("CONFIG", "GET", "cluster-port").split(separator: "\n").last.map(String.init)
      try await nodes[0].run("CLUSTER", "MEET", "127.0.0.1", String(node.port ?? 0), busPort ?? "0")
    }
    let deadline = ContinuousClock.now + .seconds(60)
    func until(_ what: String, _ holds: () async throws(PrivateServerError) -> Bool) async throws(PrivateServerError) {
      while !(try await holds()) {
        if .now > deadline { throw PrivateServerError(.notReady, "the cluster does not form: \(what)") }
        await pause()
      }
    }
    for node in nodes {
      try await until("a node does not know the others") { () async throws(PrivateServerError) in
        let lines = try await node.run("CLUSTER", "NODES").split(separator: "\n")
        return lines.count == nodes.count && !lines.contains { $0.contains("handshake") }
      }
    }
    for index in masterCount..<nodes.count {
      try await nodes[index].run("CLUSTER", "REPLICATE", ids[index % masterCount])
    }
    for index in masterCount..<nodes.count {
      try await until("a replica does not reach its master") { () async throws(PrivateServerError) in
        try await nodes[index].run("INFO", "replication").contains("master_link_status:up")
      }
    }
    for node in nodes {
      try await until("a node does not consider the cluster complete") { () async throws(PrivateServerError) in
        try await node.run("CLUSTER", "INFO").contains("cluster_state:ok")
      }
    }
    try await agree { $0.isWell(masters: masterCount, replicas: nodes.count - masterCount) }
  }

  // MARK: Moving a slot, at once or step by step

  /// Moves a slot with all its keys from one node to another while both serve it. `body` is called twice: when the move
  /// has begun but no key has moved, and when all keys have moved but no node has been notified.
  ///
  /// - Parameters:
  ///   - from: the index of the node that owns it.
  ///   - to: the index of another master.
  public func move(
    _ slot: Int, from: Int, to: Int, between body: (_ haveKeysMoved: Bool) async throws -> Void = { _ in }
  ) async throws {
    try await beginMove(of: slot, from: from, to: to)
    try await body(false)
    while true {
      let keys = try await keys(in: slot, of: from)
      if keys.isEmpty { break }
      for key in keys { try await moveKey(key, from: from, to: to) }
    }
    try await body(true)
    try await endMove(of: slot, from: from, to: to)
  }

  /// Lets one node export keys of the slot and the other import them.
  public func beginMove(of slot: Int, from: Int, to: Int) async throws(PrivateServerError) {
    // A target that has not yet heard of the previous move gives its claim a number (the config epoch) that another
    // master already has. Of two masters with the same number, one takes a higher one. If that is this move's source
    // while it still has the slot, the target returns the slot; then the source is notified that the target owns it,
    // and no node has it any more.
    try await agree { $0.isWell(masters: masterCount, replicas: nodes.count - masterCount) }
    try await nodes[to].run("CLUSTER", "SETSLOT", String(slot), "IMPORTING", ids[from])
    try await nodes[from].run("CLUSTER", "SETSLOT", String(slot), "MIGRATING", ids[to])
  }

  /// Keys of the slot on one node: all, or at most a hundred.
  public func keys(in slot: Int, of index: Int) async throws(PrivateServerError) -> [String] {
    try await nodes[index].run("CLUSTER", "GETKEYSINSLOT", String(slot), "100").split(separator: "\n").map(String.init)
  }

  /// Moves one key of a slot whose move has begun.
  public func moveKey(_ key: String, from: Int, to: Int) async throws(PrivateServerError) {
    try await nodes[from].run("MIGRATE", "127.0.0.1", String(nodes[to].port ?? 0), key, "0", "5000")
  }

  /// Assigns the slot to the node that now has its keys, and returns once every node knows.
  public func endMove(of slot: Int, from: Int, to: Int) async throws(PrivateServerError) {
    // The target before the source, or each would briefly name the other. Then the rest, as Redis's own tool does,
    // because they would otherwise learn of it only eventually.
    let masters = try await view(of: to).masters.compactMap { ids.firstIndex(of: $0) }
    for index in [to, from] + masters.filter({ $0 != from && $0 != to }) {
      try await nodes[index].run("CLUSTER", "SETSLOT", String(slot), "NODE", ids[to])
    }
    try await agree { $0.master(of: slot) == ids[to] }
  }

  /// Cancels a move, so that the slot stays. No key may have moved: the source would not take it back.
  public func abandonMove(of slot: Int, from: Int, to: Int) async throws(PrivateServerError) {
    for index in [from, to] { try await nodes[index].run("CLUSTER", "SETSLOT", String(slot), "STABLE") }
  }

  /// The index of the current master of `slot`, as the node at `witness` sees it.
  public func master(of slot: Int, seenBy witness: Int) async throws(PrivateServerError) -> Int? {
    try await view(of: witness).master(of: slot).flatMap { ids.firstIndex(of: $0) }
  }

  /// Waits until all nodes see the same cluster, in the wanted state.
  func agree(
    within limit: Duration = .seconds(60), _ isWanted: (ClusterView) -> Bool
  ) async throws(PrivateServerError) {
    let deadline = ContinuousClock.now + limit
    while true {
      var views: [ClusterView] = []
      for index in nodes.indices { views.append(try await view(of: index)) }
      if Set(views).count == 1, views[0].isSettled, isWanted(views[0]) { return }
      if .now > deadline {
        let all = views.map { "\($0)" }.joined(separator: "\n\n")
        throw PrivateServerError(.notReady, "the nodes of the cluster do not agree; each sees:\n\(all)")
      }
      await pause()
    }
  }

  private func view(of index: Int) async throws(PrivateServerError) -> ClusterView {
    ClusterView(try await nodes[index].run("CLUSTER", "NODES"))
  }
}
