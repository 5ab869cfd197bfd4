import Cryptography
import DurableJobsAdmin
import Foundation

/// The tokens that open the dashboard. Their hashes are compared, so that timing does not reveal how much of a guess is
/// right.
public struct DashboardKeys: Sendable {
  private let full: Key
  private let readOnly: Key?

  /// - Parameters:
  ///   - full: grants read and write access.
  ///   - readOnly: grants read access; must differ from `full`.
  public init(full: String, readOnly: String? = nil) {
    self.full = Key(full)
    self.readOnly = readOnly.map(Key.init)
  }

  private struct Key: Sendable {
    let digest: [UInt8]
    /// A session's trace of its token: useless without the token, and different once the token changes.
    let trace: [UInt8]

    init(_ text: String) {
      digest = SHA256.hash(of: text.utf8)
      trace = HMACSHA256(key: text.utf8).code(for: "dashboard session".utf8)
    }
  }

  /// The role that a token grants; nil for a wrong token.
  func role(of guess: String) -> Operator.Role? {
    let digest = SHA256.hash(of: guess.utf8)
    // Both comparisons always run.
    let isFull = isEqualInConstantTime(digest, full.digest)
    let isReadOnly = readOnly.map { isEqualInConstantTime(digest, $0.digest) } ?? false
    return isFull ? .full : isReadOnly ? .readOnly : nil
  }

  /// The trace that a session of this role stores; nil if no token has the role.
  func trace(of role: Operator.Role) -> [UInt8]? { role == .full ? full.trace : readOnly?.trace }
}
