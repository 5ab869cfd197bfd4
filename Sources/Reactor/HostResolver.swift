import Dispatch
import Glibc

/// A host name without an address, with `getaddrinfo`'s error.
public struct HostResolutionError: Error, CustomStringConvertible {
  public let host: String
  public let reason: String
  public var description: String { "host \(host) does not resolve: \(reason)" }
}

/// Resolves names off the loop: hiredis and libpq would block the connecting thread.
public enum HostResolver {
  /// The numeric addresses of `host`, in the order to try them. A numeric address resolves to itself.
  public static func addresses(of host: String) async throws(HostResolutionError) -> [String] {
    let outcome: Result<[String], HostResolutionError> = await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: resolve(host)) }
    }
    return try outcome.get()
  }

  private static func resolve(_ host: String) -> Result<[String], HostResolutionError> {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, nil, &hints, &list)
    defer { if let list { freeaddrinfo(list) } }
    guard status == 0 else {
      return .failure(HostResolutionError(host: host, reason: String(cString: gai_strerror(status))))
    }
    var addresses: [String] = []
    var cursor = list
    while let entry = cursor?.pointee {
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      if getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 {
        let address = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        if !addresses.contains(address) { addresses.append(address) }
      }
      cursor = entry.ai_next
    }
    return .success(addresses)
  }
}
