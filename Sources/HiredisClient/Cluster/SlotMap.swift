/// Who has which slots: a value, read from what one node of the cluster said (`CLUSTER SLOTS`).
struct SlotMap: Sendable, Equatable {
  typealias Endpoint = RedisConfiguration.Endpoint

  private static let nobody = UInt16.max

  private(set) var masters: [Endpoint] = []
  /// By the number of the master.
  private(set) var replicas: [[Endpoint]] = []
  /// For each slot the number of its master.
  private var owners = [UInt16](repeating: SlotMap.nobody, count: HashSlot.count)

  init() {}

  /// - Parameters:
  ///   - reply: for each range its first and last slot, its master and its replicas; a node begins with host and port.
  ///   - asked: stands for a host that the node does not know of itself.
  /// - Throws: `.protocol` for anything else.
  init(_ reply: RedisValue, asked: Endpoint) throws(RedisError) {
    guard let ranges = reply.elements else { throw Self.strange }
    for range in ranges {
      guard let parts = range.elements, parts.count >= 3, let first = parts[0].int, let last = parts[1].int,
        0 <= first, first <= last, last < HashSlot.count
      else { throw Self.strange }
      let nodes = try parts[2...].map { part throws(RedisError) in try Self.endpoint(part, asked) }
      let master = number(of: nodes[0])
      for replica in nodes.dropFirst() where !replicas[master].contains(replica) { replicas[master].append(replica) }
      for slot in first...last { owners[slot] = UInt16(master) }
    }
  }

  subscript(slot: Int) -> Endpoint? {
    let owner = owners[slot]
    return owner == Self.nobody ? nil : masters[Int(owner)]
  }

  /// Every node there is.
  var nodes: [Endpoint] { masters + replicas.joined() }

  /// Notes that a node said of one slot that it is another's.
  mutating func move(_ slot: Int, to endpoint: Endpoint) {
    owners[slot] = UInt16(number(of: endpoint))
  }

  private mutating func number(of master: Endpoint) -> Int {
    if let known = masters.firstIndex(of: master) { return known }
    masters.append(master)
    replicas.append([])
    return masters.count - 1
  }

  private static func endpoint(_ node: RedisValue, _ asked: Endpoint) throws(RedisError) -> Endpoint {
    guard let parts = node.elements, parts.count >= 2, let port = parts[1].int else { throw strange }
    if let host = parts[0].text, !host.isEmpty, host != "?" { return .tcp(host: host, port: port) }
    guard case .tcp(let host, _) = asked else { throw strange }
    return .tcp(host: host, port: port)
  }

  private static var strange: RedisError {
    RedisError(.protocol, "a node of the cluster did not answer CLUSTER SLOTS with ranges of slots")
  }
}
