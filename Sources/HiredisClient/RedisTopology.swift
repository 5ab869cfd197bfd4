/// What stands behind a client, as an operator wants to know it.
public struct RedisTopology: Sendable {
  /// A server that takes writes.
  public struct Master: Sendable, Hashable {
    /// `host:port`, or a socket's path.
    public var name: String
    /// How many replicas could take its place.
    public var replicas: Int

    public init(name: String, replicas: Int) {
      self.name = name
      self.replicas = replicas
    }
  }

  /// What the sentinels say of themselves.
  public struct SentinelStanding: Sendable, Hashable {
    /// How many the URL names.
    public var named: Int
    /// How many of those answered.
    public var reachable: Int
    /// The verdict of `SENTINEL CKQUORUM`: begins with `OK` where enough of them are there for a failover.
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
  /// Hash slots that no master has, or one that the others cannot reach; nil for anything but a cluster.
  public var uncoveredSlots: Int?

  public init(masters: [Master], sentinels: SentinelStanding? = nil, uncoveredSlots: Int? = nil) {
    self.masters = masters
    self.sentinels = sentinels
    self.uncoveredSlots = uncoveredSlots
  }
}
