/// A Lua script that the server keeps by its digest, so that a call sends 40 bytes instead of the source.
public struct RedisScript: Sendable {
  public let source: String
  /// SHA-1 of the source in hexadecimal, which is how Redis names a script.
  public let digest: String

  public init(_ source: String) {
    self.source = source
    digest = SHA1.hexadecimal(of: Array(source.utf8))
  }

  /// `EVALSHA`: fails with the prefix `NOSCRIPT` on a server that has not seen the source.
  public func command(keys: [any RedisArgument], arguments: [any RedisArgument] = []) -> RedisCommand {
    call("EVALSHA", digest, keys, arguments)
  }

  /// `EVAL`: carries the source, and leaves it known to the server.
  public func commandWithSource(keys: [any RedisArgument], arguments: [any RedisArgument] = []) -> RedisCommand {
    call("EVAL", source, keys, arguments)
  }

  /// `SCRIPT LOAD`: in front of a pipeline it makes the calls behind it safe against `NOSCRIPT`.
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
