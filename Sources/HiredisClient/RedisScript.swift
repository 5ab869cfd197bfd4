/// A Lua script that the server caches by its digest, so that a call sends 40 bytes instead of the source.
public struct RedisScript: Sendable {
  public let source: String
  /// SHA-1 of the source in hexadecimal, which identifies the script in Redis.
  public let digest: String

  public init(_ source: String) {
    self.source = source
    digest = SHA1.hexadecimal(of: Array(source.utf8))
  }

  /// `EVALSHA`: fails with the prefix `NOSCRIPT` on a server without the script.
  public func command(keys: [any RedisArgument], arguments: [any RedisArgument] = []) -> RedisCommand {
    call("EVALSHA", digest, keys, arguments)
  }

  /// `EVAL`: sends the source, which the server then caches.
  public func commandWithSource(keys: [any RedisArgument], arguments: [any RedisArgument] = []) -> RedisCommand {
    call("EVAL", source, keys, arguments)
  }

  /// `SCRIPT LOAD`: at the start of a pipeline, it prevents `NOSCRIPT` for the calls behind it.
  public var loadCommand: RedisCommand { RedisCommand("SCRIPT", "LOAD", source) }

  private func call(
    _ name: String, _ script: String, _ keys: [any RedisArgument], _ arguments: [any RedisArgument]
  ) -> RedisCommand {
    var command = RedisCommand(name, script, keys.count)
    command.append(contentsOf: keys)
    command.append(contentsOf: arguments)
    return command
  }
}
