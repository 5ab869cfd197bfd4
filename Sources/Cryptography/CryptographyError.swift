import CLibCrypto

/// The failure of a computation. Its text contains no secret.
public struct CryptographyError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure; more may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String

    private init(_ name: String) { self.name = name }

    /// Parameters that the algorithm does not allow, or that need too much memory.
    public static let invalidParameters = Code("invalid parameters")
    /// libcrypto failed: memory is exhausted, or its configuration excludes the algorithm.
    public static let failed = Code("failed")

    /// The signer is not trusted, or its certificate has expired.
    public static let untrusted = Code("untrusted")

    public var description: String { name }
  }

  public let code: Code
  /// The failed operation.
  public let what: String
  /// libcrypto's message; nil if there is none.
  public let reason: String?

  /// Takes libcrypto's message from this thread's error queue, and empties the queue.
  init(_ code: Code, _ what: String) {
    self.code = code
    self.what = what
    let number = ERR_get_error()
    ERR_clear_error()
    reason = number == 0 ? nil : Self.text(of: number)
  }

  /// - Parameter reason: nil for libcrypto's message, which is removed from its queue either way.
  init(_ code: Code, _ what: String, reason: String?) {
    self.code = code
    self.what = what
    self.reason = reason
    ERR_clear_error()
  }

  public var description: String { "\(what): \(code)\(reason.map { " (\($0))" } ?? "")" }

  private static func text(of number: UInt) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
      guard let start = text.baseAddress else { return "error \(number)" }
      ERR_error_string_n(number, start, text.count)
      return String(cString: start)
    }
  }
}
