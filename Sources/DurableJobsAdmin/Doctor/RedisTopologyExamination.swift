import HiredisClient

/// The doctor's check of failover: which server takes over when a Redis master is lost.
struct RedisTopologyExamination {
  let topology: RedisTopology
  let configured: RedisConfiguration.Topology
  let terms: DoctorTerms

  func run() -> [Finding] {
    switch configured {
    case .server: []
    case .sentinel: [sentinels, replicas].compactMap(\.self)
    case .cluster: [slots, replicas].compactMap(\.self)
    }
  }

  private var sentinels: Finding? {
    guard let standing = topology.sentinels else { return nil }
    let count = "\(standing.reachable) of \(standing.named) sentinels answer"
    guard let quorum = standing.quorum, quorum.hasPrefix("OK") else {
      return .fail(
        "Redis sentinels", "\(count): \(standing.quorum ?? "whether they agree is unknown")",
        "start more: they are too few to replace a lost master")
    }
    if standing.reachable < standing.named {
      return .warn(
        "Redis sentinels", count, "start the others, or remove those that are gone from \(terms.redisURL)")
    }
    return .ok("Redis sentinels", "\(count), enough to replace the master")
  }

  private var slots: Finding? {
    guard let uncovered = topology.uncoveredSlots else { return nil }
    if uncovered == 0 { return .ok("Redis slots", "all 16384 have one of \(topology.masters.count) masters") }
    return .fail(
      "Redis slots",
      "\(uncovered) of 16384 have no master: their queues are stopped, and the jobs wait in the ledger",
      "restore the lost masters or their replicas, or reassign the slots: redis-cli --cluster fix")
  }

  private var replicas: Finding {
    let alone = topology.masters.filter { $0.replicas == 0 }.map(\.name)
    if alone.isEmpty { return .ok("Redis replicas", "each master has one or more") }
    return .warn(
      "Redis replicas", "none for \(alone.joined(separator: ", "))",
      "add one: while a master has none, losing it stops its queues until it is back; the ledger keeps their jobs")
  }
}
