/// The owners of the slots and their epochs, as one node sees them (`CLUSTER NODES`).
struct ClusterView: Hashable, CustomStringConvertible {
  private struct Node: Hashable {
    var id: String
    var flags: Set<String>
    var master: String
    /// The number of its claim on its slots: if two nodes claim a slot, the higher one wins.
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
          // Slots in brackets are moving; only the two nodes involved list them.
          master: words[3], epoch: words[6], slots: words[8...].filter { !$0.hasPrefix("[") }))
    }
    nodes.sort { $0.id < $1.id }
  }

  /// The ids of the masters.
  var masters: [String] { nodes.filter(\.isMaster).map(\.id) }

  /// Whether all masters have different epochs; equal ones would still have to be settled.
  var isSettled: Bool {
    let masters = nodes.filter(\.isMaster)
    return Set(masters.map(\.epoch)).count == masters.count
  }

  /// Whether all nodes are present and healthy.
  func isWell(masters: Int, replicas: Int) -> Bool {
    nodes.count == masters + replicas && self.masters.count == masters && !nodes.contains(where: \.isFailing)
  }

  /// The id of the master of `slot`.
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
