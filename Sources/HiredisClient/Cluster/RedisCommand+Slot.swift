extension RedisCommand {
  /// The slot of the command's first key; nil for a command without keys.
  ///
  /// All keys must share the slot, or the server refuses the command (`CROSSSLOT`).
  var slot: Int? {
    withParts { parts in
      guard let key = Self.firstKey(of: &parts) else { return nil }
      return HashSlot.of(key)
    }
  }

  private typealias Bytes = UnsafeBufferPointer<UInt8>

  /// Finds the first key: for most commands, right after the name.
  private static func firstKey(of parts: inout Parts) -> Bytes? {
    guard let name = parts.next() else { return nil }
    switch word(name) {
    case "eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro":
      _ = parts.next()
      guard let count = parts.next(), !count.elementsEqual("0".utf8) else { return nil }
      return parts.next()
    case "xread", "xreadgroup":
      while let part = parts.next() {
        if word(part) == "streams" { return parts.next() }
      }
      return nil
    case "xinfo", "xgroup", "object", "bitop":
      _ = parts.next()
      return parts.next()
    case "memory":
      guard let what = parts.next(), word(what) == "usage" else { return nil }
      return parts.next()
    case "ping", "echo", "info", "time", "role", "client", "config", "script", "command", "cluster", "dbsize", "keys",
      "scan", "flushall", "flushdb", "wait", "auth", "select", "debug", "acl", "latency", "slowlog", "publish",
      "asking",
      "randomkey", "multi", "exec", "save", "bgsave", "shutdown", "replicaof", "hello", "readonly", "readwrite":
      return nil
    default:
      return parts.next()
    }
  }

  /// The word in lowercase; empty if longer than all names above, which saves the conversion.
  private static func word(_ bytes: Bytes) -> String {
    if bytes.count > 12 { return "" }
    return String(unsafeUninitializedCapacity: bytes.count) { room in
      for (index, byte) in bytes.enumerated() { room[index] = byte | 0x20 }
      return bytes.count
    }
  }

  private func withParts<Result>(_ body: (inout Parts) -> Result) -> Result {
    withWireBytes { bytes in
      var parts = Parts(bytes: bytes)
      return body(&parts)
    }
  }

  /// Iterates over the parts of an encoded command.
  private struct Parts {
    let bytes: Bytes
    private var position = 0

    init(bytes: Bytes) {
      self.bytes = bytes
      skipLine()
    }

    mutating func next() -> Bytes? {
      guard position < bytes.count else { return nil }
      position += 1
      var length = 0
      while bytes[position] != 13 {
        length = 10 * length + Int(bytes[position]) - 48
        position += 1
      }
      let start = position + 2
      position = start + length + 2
      return Bytes(rebasing: bytes[start..<start + length])
    }

    private mutating func skipLine() {
      while position < bytes.count, bytes[position] != 10 { position += 1 }
      position += 1
    }
  }
}
