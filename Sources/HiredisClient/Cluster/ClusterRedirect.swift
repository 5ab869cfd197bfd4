/// What an error means for a command that was sent to a node of a cluster. The forms are those of the Redis Cluster
/// specification, "Redirection and resharding".
enum ClusterRedirect: Equatable {
  /// The slot is another node's, from now on.
  case moved(slot: Int, to: RedisConfiguration.Endpoint)
  /// The key has gone to the node that is about to get the slot; this command alone goes there.
  case ask(RedisConfiguration.Endpoint)
  /// Not now: keys are on their way from node to node, or a master is being replaced.
  case later
  /// The command never left, since its node is away; another may have taken the slot over.
  case unsent

  /// - Parameter asked: stands for the host, where the node leaves it out since it does not know its own name.
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

  /// From `MOVED 3999 host:port`; an IPv6 host has colons of its own.
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
