import HiredisClient
import Testing

@Suite struct RedisConfigurationTests {
  @Test func readsTCPAddresses() throws {
    let full = try RedisConfiguration(url: "redis://app:p%40ss%2fword@cache.example:6390/3")
    #expect(full.endpoint == .tcp(host: "cache.example", port: 6390))
    #expect(full.user == "app")
    #expect(full.password == "p@ss/word")
    #expect(full.database == 3)
    #expect(full.displayName == "redis://cache.example:6390/3")

    let bare = try RedisConfiguration(url: "redis://localhost")
    #expect(bare.endpoint == .tcp(host: "localhost", port: 6379))
    #expect(bare.password == nil && bare.user == nil && bare.database == 0)

    let secret = try RedisConfiguration(url: "redis://:only@10.0.0.1/")
    #expect(secret.user == nil && secret.password == "only")
    #expect(try RedisConfiguration(url: "redis://[::1]:7000").endpoint == .tcp(host: "::1", port: 7000))
    #expect(try RedisConfiguration(url: "redis://[::1]").displayName == "redis://[::1]:6379/0")
  }

  @Test func readsSocketPaths() throws {
    let plain = try RedisConfiguration(url: "unix:///run/redis.sock")
    #expect(plain.endpoint == .unix(path: "/run/redis.sock"))
    #expect(plain.database == 0)
    let full = try RedisConfiguration(url: "unix://:pw@/run/with%20space.sock?db=2")
    #expect(full.endpoint == .unix(path: "/run/with space.sock"))
    #expect(full.password == "pw" && full.database == 2)
  }

  @Test func readsSentinels() throws {
    let full = try RedisConfiguration(
      url: "redis+sentinel://app:p%40ss@s1:26380,s2,[::1]:5/my%20master/3?sentinel_user=w&sentinel_password=x%26y")
    #expect(
      full.endpoints == [.tcp(host: "s1", port: 26380), .tcp(host: "s2", port: 26379), .tcp(host: "::1", port: 5)])
    #expect(full.topology == .sentinel(.init(master: "my master", user: "w", password: "x&y")))
    #expect(full.user == "app" && full.password == "p@ss" && full.database == 3)
    #expect(full.displayName == "redis+sentinel://s1:26380,s2:26379,[::1]:5/my master/3")
    let bare = try RedisConfiguration(url: "redis+sentinel://s/main")
    #expect(bare.topology == .sentinel(.init(master: "main")))
    #expect(bare.database == 0 && bare.password == nil)
    #expect(try RedisConfiguration(url: "redis+sentinel://s/main?db=2").database == 2)
  }

  @Test func readsClusters() throws {
    let full = try RedisConfiguration(url: "redis+cluster://app:pw@n1:7000,n2/0")
    #expect(full.endpoints == [.tcp(host: "n1", port: 7000), .tcp(host: "n2", port: 6379)])
    #expect(full.topology == .cluster)
    #expect(full.user == "app" && full.password == "pw" && full.database == 0)
    #expect(full.displayName == "redis+cluster://n1:7000,n2:6379")
  }

  @Test(arguments: [
    ("localhost:6379", "no scheme"),
    ("rediss+sentinel://h/n", "TLS"),
    ("rediss+cluster://h", "TLS"),
    ("redis://a,b", "takes one server, not 2"),
    ("redis+sentinel://", "no host"),
    ("redis+sentinel://a,,b/n", "no host"),
    ("redis+sentinel://a:x/n", "port \"x\""),
    ("redis+sentinel://a", "the master's name is missing"),
    ("redis+sentinel://a/", "the master's name is missing"),
    ("redis+sentinel://a/n/x", "database \"x\""),
    ("redis+sentinel://a/n?sentinel_user=u", "no sentinel_password"),
    ("redis+sentinel://a/n?sentinel_pasword=secret", "not take \"sentinel_pasword\""),
    ("redis+cluster://", "no host"),
    ("redis+cluster://:secret@a:0", "port \"0\""),
    ("redis+cluster://a/1", "only database 0"),
    ("redis+cluster://a?db=1", "only database 0"),
    ("redis+cluster://a?nodes=b", "not take \"nodes\""),
    ("redis+tls://h", "scheme redis+tls://"),
    ("http://h", "scheme http://"),
    ("redis://", "no host"),
    ("redis://:secret@:6379", "no host"),
    ("redis://:secret@h:port", "port \"port\""),
    ("redis://h:70000", "port \"70000\""),
    ("redis://:secret@h/x", "database \"x\""),
    ("redis://h/-1", "database \"-1\""),
    ("redis://user@h", "no password"),
    ("redis://:secret%zz@h", "the password has a %"),
    ("redis://[::1", "closing bracket"),
    ("unix://", "absolute path"),
    ("unix://relative/path", "absolute path"),
    ("unix:///p?db=x", "database \"x\""),
    ("unix:///" + String(repeating: "x", count: 107), "longer than 107"),
  ])
  func saysWhatIsWrong(_ url: String, _ part: String) {
    let error = #expect(throws: RedisError.self) { try RedisConfiguration(url: url) }
    #expect(error?.code == .configuration)
    #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    #expect(error?.message.contains("secret") == false)
  }
}
