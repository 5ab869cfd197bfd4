/// What an error means for a command sent to a cluster node. The forms follow the Redis Cluster specification,
/// "Redirection and resharding".
enum ClusterRedirect: Equatable {
  /// The slot now belongs to another node.
  case moved(slot: Int, to: RedisConfiguration.Endpoint)
  /// The key has moved to the node that is importing the slot; only this command goes there.
  case ask(RedisConfiguration.Endpoint)
  /// Temporary: keys are moving between nodes, or a master is being replaced.
  case later
  /// The command was never sent because its node is down; another node may have taken over the slot.
  case unsent

  /// - Parameter asked: supplies the host if the node omits it because it does not know its own name.
  init?(_ error: RedisError, asked: RedisConfiguration.Endpoint) {
    if error.isUnsent {
      self = .unsent
      return
    }
    guard error.code == .server else { return nil }
    switch error.serverPrefix {
    case "MOVED":
      guard let (slot, endpoint) = Self.target(error.message, asked) else { return nil }
      self = .moved(slot: slot, to: endpoint)
    case "ASK":
      guard let (_, endpoint) = Self.target(error.message, asked) else { return nil }
      self = .ask(endpoint)
    case "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "LOADING", "READONLY":
      self = .later
    default:
      return nil
    }
  }

  /// Parses `MOVED 3999 host:port`; an IPv6 host contains colons itself.
  private static func target(
    _ message: String, _ asked: RedisConfiguration.Endpoint
  ) -> (Int, RedisConfiguration.Endpoint)? {
    let words = message.split(separator: " ")
    guard words.count >= 3, let slot = Int(words[1]), 0..<HashSlot.count ~= slot,
      let colon = words[2].lastIndex(of: ":"), let port = Int(words[2][words[2].index(after: colon)...])
    else { return nil }
    let host = words[2][..<colon]
    if !host.isEmpty, host != "?" { return (slot, .tcp(host: String(host), port: port)) }
    guard case .tcp(let same, _) = asked else { return nil }
    return (slot, .tcp(host: same, port: port))
  }
}
