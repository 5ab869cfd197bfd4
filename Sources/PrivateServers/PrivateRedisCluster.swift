import Foundation

/// A Redis Cluster on ports of 127.0.0.1: masters that share the slots evenly, and replicas of them.
public struct PrivateRedisCluster: Sendable {
  /// The masters first, then the replicas in rounds: the first round has one of each master.
  public let nodes: [PrivateRedis]
  public let masterCount: Int
  /// The nodes' ids, in their order.
  let ids: [String]

  /// Where clients begin to look.
  public var url: String {
    "redis+cluster://" + nodes.map { "127.0.0.1:\($0.port ?? 0)" }.joined(separator: ",")
  }

  private static let slots = 16384

  /// Starts all nodes, forms the cluster and waits until every node agrees with it and every replica is in step.
  ///
  /// - Parameters:
  ///   - nodeTimeout: how long a node may be silent, in milliseconds, until a replica takes its place. Long where none
  ///     shall: on a machine that is short of time, a node is silent for seconds and well.
  ///   - settings: further ones of each node, by name.
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

  /// Stops all.
  public func stop() async { for node in nodes { await node.stop() } }

  private func form() async throws(PrivateServerError) {
    for index in 0..<masterCount {
      let first = index * Self.slots / masterCount
      let last = (index + 1) * Self.slots / masterCount - 1
      try await nodes[index].run("CLUSTER", "ADDSLOTSRANGE", String(first), String(last))
      // Two masters of the same epoch would have to settle which is newer before anything else.
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
      try await until("a node does not take the cluster for complete") { () async throws(PrivateServerError) in
        try await node.run("CLUSTER", "INFO").contains("cluster_state:ok")
      }
    }
    try await agree { $0.isWell(masters: masterCount, replicas: nodes.count - masterCount) }
  }
}
