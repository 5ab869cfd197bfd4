import HiredisClient

extension RedisClient {
  /// How often the server ran each command, including those inside scripts.
  public func commandCounts() async throws -> [Substring: Int] {
    let text = try await send(RedisCommand("INFO", "commandstats")).text ?? ""
    var counts: [Substring: Int] = [:]
    for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix("cmdstat_") {
      let parts = line.dropFirst("cmdstat_".count).split(separator: ":", maxSplits: 1)
      counts[parts[0]] = parts[1].split(separator: ",").first.flatMap { Int($0.dropFirst("calls=".count)) } ?? 0
    }
    return counts
  }
}
