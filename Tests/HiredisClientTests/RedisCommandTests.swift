import Testing

@testable import HiredisClient

@Suite struct RedisCommandTests {
  private func wire(_ command: RedisCommand) -> String {
    command.withWireBytes { String(decoding: $0, as: UTF8.self) }
  }

  @Test func encodesEveryKindOfArgument() {
    let text = "four"
    let command = RedisCommand(
      "SET", "key", "static" as StaticString, text.prefix(2), 7, Int64(-12), [UInt8]([0x61, 0x62]),
      [UInt8]([1, 0x63, 2])[1..<2], 0.5, "")
    #expect(
      wire(command) == "*10\r\n$3\r\nSET\r\n$3\r\nkey\r\n$6\r\nstatic\r\n$2\r\nfo\r\n$1\r\n7\r\n$3\r\n-12\r\n"
        + "$2\r\nab\r\n$1\r\nc\r\n$3\r\n0.5\r\n$0\r\n\r\n")
    #expect(command.count == 10)
  }

  @Test func encodesWholeNumbersAtTheirEdges() {
    for number in [Int64.min, -10, -9, -1, 0, 9, 10, 99, 100, 1_234_567_890, .max] {
      let digits = String(number)
      #expect(wire(RedisCommand("N", number)) == "*2\r\n$1\r\nN\r\n$\(digits.utf8.count)\r\n\(digits)\r\n")
    }
  }

  @Test func encodesLengthsOfEveryWidth() {
    for count in [0, 1, 9, 10, 99, 100, 999, 1000, 9999, 10_000, 99_999, 100_000, 1_000_001] {
      let bytes = [UInt8](repeating: 0x78, count: count)
      #expect(
        wire(RedisCommand("E", bytes)) == "*2\r\n$1\r\nE\r\n$\(count)\r\n\(String(repeating: "x", count: count))\r\n")
    }
  }

  @Test func countsWhatIsAppended() {
    var command = RedisCommand("MGET")
    for number in 0..<12 { command.append(number) }
    command.append(contentsOf: ["a", "b"])
    command.append(contentsOf: [1, "c"] as [any RedisArgument])
    let digits = (0..<10).map { "$1\r\n\($0)\r\n" }.joined()
    #expect(
      wire(command)
        == "*17\r\n$4\r\nMGET\r\n\(digits)$2\r\n10\r\n$2\r\n11\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\n1\r\n$1\r\nc\r\n")
    #expect(wire(RedisCommand(["GET", "k"])) == "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
  }

  @Test func knowsTheCommandsThatStartAStream() {
    for name in ["SUBSCRIBE", "pSubscribe", "SSUBSCRIBE", "UNSUBSCRIBE", "punsubscribe", "Monitor"] {
      #expect(RedisCommand(name, "x").startsStream, "\(name)")
    }
    for name in [
      "", "GET", "EVALSHA", "EXPIRE", "XAUTOCLAIM", "XREADGROUP", "PUBLISH", "INCRBYFLOAT", "ZREMRANGEBYSCORE",
    ] {
      #expect(!RedisCommand(name, "x").startsStream, "\(name)")
    }
  }
}
