import Foundation
import HiredisClient
import PrivateServers

extension PrivateRedis {
  /// A server that refuses to change anything, since it could not write its snapshot: a folder is in the way. One whose
  /// disk is full refuses in the same words. It does not stop in order either, only by `kill9`.
  ///
  /// - Parameter refuses: false for one whose settings let it go on without a snapshot.
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
