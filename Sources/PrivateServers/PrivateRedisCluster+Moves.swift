import Foundation

/// A slot on its way from one master to another, all at once or step by step.
extension PrivateRedisCluster {
  /// Moves a slot with all its keys from one node to another while both serve it; `body` is called when the move has
  /// begun and no key has gone, and when all have and nobody has been told.
  ///
  /// - Parameters:
  ///   - from: the index of the node that has it.
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

  /// Lets the one node give keys of the slot away and the other take them in.
  public func beginMove(of slot: Int, from: Int, to: Int) async throws(PrivateServerError) {
    // A target that has not heard of the move before gives its claim a number (the config epoch) that another master
    // has already. Of two with the same number one takes a higher one, and if that is this move's source while it still
    // has the slot, the target hands the slot back; then the source is told that it is the target's, and nobody has it
    // any more.
    try await agree { $0.isWell(masters: masterCount, replicas: nodes.count - masterCount) }
    try await nodes[to].run("CLUSTER", "SETSLOT", String(slot), "IMPORTING", ids[from])
    try await nodes[from].run("CLUSTER", "SETSLOT", String(slot), "MIGRATING", ids[to])
  }

  /// Keys of the slot that are on one node: all, or a hundred of them.
  public func keys(in slot: Int, of index: Int) async throws(PrivateServerError) -> [String] {
    try await nodes[index].run("CLUSTER", "GETKEYSINSLOT", String(slot), "100").split(separator: "\n").map(String.init)
  }

  /// Moves one key of a slot whose move has begun.
  public func moveKey(_ key: String, from: Int, to: Int) async throws(PrivateServerError) {
    try await nodes[from].run("MIGRATE", "127.0.0.1", String(nodes[to].port ?? 0), key, "0", "5000")
  }

  /// Gives the slot to the node that has its keys by now, and returns when every node knows.
  public func endMove(of slot: Int, from: Int, to: Int) async throws(PrivateServerError) {
    // The target before the source, or for a moment each would name the other. Then the rest, as Redis' own tool does
    // it: they would hear of it by and by.
    let masters = try await view(of: to).masters.compactMap { ids.firstIndex(of: $0) }
    for index in [to, from] + masters.filter({ $0 != from && $0 != to }) {
      try await nodes[index].run("CLUSTER", "SETSLOT", String(slot), "NODE", ids[to])
    }
    try await agree { $0.master(of: slot) == ids[to] }
  }

  /// Leaves the slot where it is after all. No key must have gone: the source would not take it back.
  public func abandonMove(of slot: Int, from: Int, to: Int) async throws(PrivateServerError) {
    for index in [from, to] { try await nodes[index].run("CLUSTER", "SETSLOT", String(slot), "STABLE") }
  }

  /// The index of the node that is master of `slot` now, as the node at `witness` sees it.
  public func master(of slot: Int, seenBy witness: Int) async throws(PrivateServerError) -> Int? {
    try await view(of: witness).master(of: slot).flatMap { ids.firstIndex(of: $0) }
  }

  /// Waits until all nodes see the same cluster, and it is as wanted.
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

/// Who has which slots since when, as one node sees it (`CLUSTER NODES`).
struct ClusterView: Hashable, CustomStringConvertible {
  private struct Node: Hashable {
    var id: String
    var flags: Set<String>
    var master: String
    /// The number of its claim on its slots: of two nodes that claim one the higher has it.
    var epoch: String
    var slots: [String]

    var isMaster: Bool { flags.contains("master") }
    var isFailing: Bool { flags.contains { $0.hasPrefix("fail") } }
  }

  private var nodes: [Node] = []

  init(_ text: String) {
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      guard words.count >= 8 else { continue }
      nodes.append(
        Node(
          id: words[0], flags: Set(words[2].split(separator: ",").map(String.init)).subtracting(["myself"]),
          // Only the two nodes of a move speak of it, in brackets.
          master: words[3], epoch: words[6], slots: words[8...].filter { !$0.hasPrefix("[") }))
    }
    nodes.sort { $0.id < $1.id }
  }

  /// The ids of the masters.
  var masters: [String] { nodes.filter(\.isMaster).map(\.id) }

  /// Whether no two masters claim their slots with the same number, which they would still have to settle.
  var isSettled: Bool {
    let masters = nodes.filter(\.isMaster)
    return Set(masters.map(\.epoch)).count == masters.count
  }

  /// Whether all are there and well.
  func isWell(masters: Int, replicas: Int) -> Bool {
    nodes.count == masters + replicas && self.masters.count == masters && !nodes.contains(where: \.isFailing)
  }

  /// The id of the master that has `slot`.
  func master(of slot: Int) -> String? {
    nodes.first { node in
      guard node.isMaster, !node.isFailing else { return false }
      return node.slots.contains { range in
        let ends = range.split(separator: "-").compactMap { Int($0) }
        guard let first = ends.first, let last = ends.last else { return false }
        return first...max(first, last) ~= slot
      }
    }?.id
  }

  var description: String {
    nodes.map { node in
      let flags = node.flags.sorted().joined(separator: ",")
      return "\(node.id.prefix(8)) \(flags) epoch \(node.epoch): \(node.slots.joined(separator: " "))"
    }.joined(separator: "\n")
  }
}
