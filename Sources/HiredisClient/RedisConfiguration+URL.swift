extension RedisConfiguration {
  /// Parses the URL of Redis:
  ///
  /// - `redis://[user[:password]@]host[:port][/db]`: one server.
  /// - `rediss://…[?ca=FILE&cert=FILE&key=FILE]`: one server over TLS, if the build's hiredis supports it, with the
  ///   authorities to trust instead of the system's, and the client certificate.
  /// - `unix://[user[:password]@]/path/to.sock[?db=N]`: one server, through a socket.
  /// - `redis+sentinel://[user[:password]@]host[:port],host[:port]/NAME[/db]`: the master called NAME at the sentinels,
  ///   whose login is `?sentinel_user=…&sentinel_password=…`.
  /// - `redis+cluster://[user[:password]@]host[:port],host[:port]`: a Redis Cluster, found through any of these nodes.
  ///
  /// User, password, name and path may be percent-encoded. `:password@` is a password without a user. User, password
  /// and database are those of the servers that hold the data.
  ///
  /// - Throws: `.configuration`; the message names the invalid part and never contains the password.
  public init(url: String) throws(RedisError) {
    let url = try RedisURL(url)
    switch url.scheme {
    case "redis", "rediss":
      let endpoints = try url.endpoints(port: 6379, example: "redis://host:6379")
      guard endpoints.count == 1 else {
        throw RedisURL.wrong(
          "redis:// takes one server, not \(endpoints.count); write redis+sentinel://host,host/NAME for sentinels "
            + "or redis+cluster://host,host for a cluster")
      }
      self.init(endpoints[0], user: url.user, password: url.password, database: try url.database())
      if url.scheme == "rediss" { tls = try url.tls() }
    case "unix":
      guard url.authority.isEmpty, url.path.count > 1 else {
        throw RedisURL.wrong("unix:// needs an absolute path, as in unix:///path/to/redis.sock")
      }
      let file = try RedisURL.decode(url.path, "the path")
      // The kernel limits a socket's path, including its terminator, to 108 bytes; hiredis would truncate a longer one.
      guard file.utf8.count < 108 else { throw RedisURL.wrong("the socket's path is longer than 107 bytes") }
      self.init(
        .unix(path: file), user: url.user, password: url.password, database: try url.queriedDatabase() ?? 0)
    case "redis+sentinel":
      try url.allow(query: ["db", "sentinel_user", "sentinel_password"])
      let endpoints = try url.endpoints(port: 26379, example: "redis+sentinel://host:26379,host:26379/NAME")
      let segments = url.path.dropFirst().split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      let name = try RedisURL.decode(segments.first ?? "", "the master's name")
      guard !name.isEmpty else {
        throw RedisURL.wrong(
          "the master's name is missing; write redis+sentinel://host:26379,host:26379/NAME, with the name from "
            + "the sentinels' 'sentinel monitor' line")
      }
      let database =
        segments.count > 1 && !segments[1].isEmpty
        ? try RedisURL.database(segments[1]) : try url.queriedDatabase() ?? 0
      self.init(endpoints[0], user: url.user, password: url.password, database: database)
      otherEndpoints = Array(endpoints.dropFirst())
      let user = try url.value("sentinel_user")
      let password = try url.value("sentinel_password")
      if user != nil, password == nil {
        throw RedisURL.wrong("there is a sentinel_user but no sentinel_password")
      }
      topology = .sentinel(Sentinel(master: name, user: user, password: password))
    case "redis+cluster":
      try url.allow(query: ["db"])
      let endpoints = try url.endpoints(port: 6379, example: "redis+cluster://host:6379,host:6379")
      guard try url.database() == 0 else {
        throw RedisURL.wrong("a Redis Cluster has only database 0; leave the database out")
      }
      self.init(endpoints[0], user: url.user, password: url.password)
      otherEndpoints = Array(endpoints.dropFirst())
      topology = .cluster
    case "rediss+sentinel", "rediss+cluster":
      throw RedisURL.wrong(
        "\(url.scheme):// needs TLS, which works with a single server only (rediss://); "
          + "use \(url.scheme.replacing("rediss", with: "redis")):// in an encrypted network")
    default:
      throw RedisURL.wrong(
        "the scheme \(url.scheme):// is unknown; use redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://"
      )
    }
  }
}
