import CLibCrypto

/// What kept a computation from being done. Its text names no secret.
public struct CryptographyError: Error, Sendable, CustomStringConvertible {
  /// What went wrong; more may come.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String

    private init(_ name: String) { self.name = name }

    /// Parameters that the algorithm does not allow, or that would take too much memory.
    public static let invalidParameters = Code("invalid parameters")
    /// libcrypto could not do it: memory is short, or its configuration leaves the algorithm out.
    public static let failed = Code("failed")

    /// The signer is not trusted, or its certificate has expired.
    public static let untrusted = Code("untrusted")

    public var description: String { name }
  }

  public let code: Code
  /// What was to be done.
  public let what: String
  /// libcrypto's own words; nil if it says nothing.
  public let reason: String?

  /// Takes what libcrypto says about the failure from this thread's queue of errors, and empties it.
  init(_ code: Code, _ what: String) {
    self.code = code
    self.what = what
    let number = ERR_get_error()
    ERR_clear_error()
    reason = number == 0 ? nil : Self.text(of: number)
  }

  /// - Parameter reason: nil for what libcrypto says, which is taken out of its queue either way.
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
