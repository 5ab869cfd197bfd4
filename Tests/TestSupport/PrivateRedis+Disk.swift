import Foundation
import HiredisClient
import PrivateServers

extension PrivateRedis {
  /// A server that refuses all changes because it could not write its snapshot: a folder is in the way. A server with a
  /// full disk refuses with the same message. It cannot shut down in order either, only by `kill9`.
  ///
  /// - Parameter refuses: false for a server whose settings let it continue without a snapshot.
  public static func withoutDisk(refuses: Bool = true) async throws -> PrivateRedis {
    var options = Options()
    options.settings = ["dbfilename": "taken", "save": "3600 1", "stop-writes-on-bgsave-error": refuses ? "yes" : "no"]
    let server = try await start(options: options)
    let folder = URL(filePath: server.log).deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder.appending(path: "taken"), withIntermediateDirectories: false)
    try await withRedisClient(url: server.url) { client in
      _ = try await client.send(RedisCommand("SET", "key", 1))
      _ = try await client.send(RedisCommand("BGSAVE"))
      try await eventually("the snapshot has failed") {
        try await client.send(RedisCommand("INFO", "persistence")).text?.contains("rdb_last_bgsave_status:err")
          == true
      }
    }
    return server
  }
}
