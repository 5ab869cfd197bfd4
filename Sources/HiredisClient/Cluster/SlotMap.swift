/// The owners of the slots: a value parsed from one node's reply to `CLUSTER SLOTS`.
struct SlotMap: Sendable, Equatable {
  typealias Endpoint = RedisConfiguration.Endpoint

  private static let nobody = UInt16.max

  private(set) var masters: [Endpoint] = []
  /// By the master's index.
  private(set) var replicas: [[Endpoint]] = []
  /// The index of each slot's master.
  private var owners = [UInt16](repeating: SlotMap.nobody, count: HashSlot.count)

  init() {}

  /// - Parameters:
  ///   - reply: for each range, its first and last slot, its master and its replicas; a node begins with host and port.
  ///   - asked: supplies the host if a node does not know its own.
  /// - Throws: `.protocol` for a malformed reply.
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

  /// All nodes.
  var nodes: [Endpoint] { masters + replicas.joined() }

  /// Records that a slot belongs to another node.
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
