import Testing

@testable import HiredisClient

/// The numbers come from the Redis Cluster specification and from `CLUSTER KEYSLOT`.
@Suite struct HashSlotTests {
  @Test func theChecksumIsTheSpecifications() {
    let crc = Array("123456789".utf8).withUnsafeBufferPointer { HashSlot.crc16($0) }
    #expect(crc == 0x31C3)
  }

  @Test(arguments: [
    ("foo", 12182), ("somekey", 11058), ("foo{hash_tag}", 2515), ("bar{hash_tag}", 2515), ("hash_tag", 2515),
    ("{}foo", HashSlot.of("{}foo")), ("", 0),
  ])
  func slotsAreTheServers(_ key: String, _ slot: Int) {
    #expect(HashSlot.of(key) == slot)
  }

  @Test func onlyAFullTagCounts() {
    #expect(HashSlot.of("{user1000}.following") == HashSlot.of("{user1000}.followers"))
    #expect(HashSlot.of("foo{}{bar}") != HashSlot.of("bar"))
    #expect(HashSlot.of("foo{{bar}}zap") == HashSlot.of("{bar"))
    #expect(HashSlot.of("foo{bar}{zap}") == HashSlot.of("bar"))
    #expect(HashSlot.of("foo{bar") != HashSlot.of("bar"))
    #expect(HashSlot.of("foo}{") == HashSlot.of("foo}{"))
  }

  @Test func commandsSayWhichKeyIsTheirs() {
    let slot = HashSlot.of("{q}")
    let keyed: [RedisCommand] = [
      RedisCommand("GET", "{q}x"), RedisCommand("xadd", "{q}:high", "*", "j", "v"),
      RedisCommand("EVALSHA", "digest", 2, "{q}a", "{q}b", "argument"),
      RedisCommand("EVAL", String(repeating: "x", count: 500), 1, "{q}a"),
      RedisCommand("XREADGROUP", "GROUP", "workers", "me", "COUNT", 5, "STREAMS", "{q}a", "{q}b", ">", ">"),
      RedisCommand("XINFO", "STREAM", "{q}a"), RedisCommand("XGROUP", "CREATE", "{q}a", "g", "0"),
      RedisCommand("MEMORY", "USAGE", "{q}a"), RedisScript("return 1").command(keys: ["{q}a"]),
    ]
    for command in keyed { #expect(command.slot == slot) }
    let unkeyed: [RedisCommand] = [
      RedisCommand("PING"), RedisCommand("CLIENT", "UNBLOCK", 5), RedisCommand("INFO", "memory"),
      RedisCommand("EVAL", "return 1", 0), RedisCommand("SCRIPT", "LOAD", "return 1"), RedisCommand("TIME"),
    ]
    for command in unkeyed { #expect(command.slot == nil) }
  }
}
