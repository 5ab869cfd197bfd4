/// The servers behind a client, as reported to operators.
public struct RedisTopology: Sendable {
  /// A server that accepts writes.
  public struct Master: Sendable, Hashable {
    /// `host:port`, or a socket's path.
    public var name: String
    /// The number of replicas that could replace it.
    public var replicas: Int

    public init(name: String, replicas: Int) {
      self.name = name
      self.replicas = replicas
    }
  }

  /// The sentinels' report about themselves.
  public struct SentinelStanding: Sendable, Hashable {
    /// The number in the URL.
    public var named: Int
    /// The number of those that responded.
    public var reachable: Int
    /// The verdict of `SENTINEL CKQUORUM`: begins with `OK` if enough of them are up for a failover.
    public var quorum: String?

    public init(named: Int, reachable: Int, quorum: String?) {
      self.named = named
      self.reachable = reachable
      self.quorum = quorum
    }
  }

  public var masters: [Master]
  /// nil without sentinels.
  public var sentinels: SentinelStanding?
  /// Hash slots without a master, or with one that the others cannot reach; nil unless there is a cluster.
  public var uncoveredSlots: Int?

  public init(masters: [Master], sentinels: SentinelStanding? = nil, uncoveredSlots: Int? = nil) {
    self.masters = masters
    self.sentinels = sentinels
    self.uncoveredSlots = uncoveredSlots
  }
}
