import Cryptography
import DurableJobsAdmin
import Foundation

/// The tokens that open the dashboard. They are compared by their hashes, so that the time it takes says nothing about
/// how much of a guess is right.
public struct DashboardKeys: Sendable {
  private let full: Key
  private let readOnly: Key?

  /// - Parameters:
  ///   - full: lets an operator act.
  ///   - readOnly: lets him look; another than `full`.
  public init(full: String, readOnly: String? = nil) {
    self.full = Key(full)
    self.readOnly = readOnly.map(Key.init)
  }

  private struct Key: Sendable {
    let digest: [UInt8]
    /// What a session remembers of the token: useless without it, and another once it is changed.
    let trace: [UInt8]

    init(_ text: String) {
      digest = SHA256.hash(of: text.utf8)
      trace = HMACSHA256(key: text.utf8).code(for: "dashboard session".utf8)
    }
  }

  /// What a token lets its bearer do; nil for a wrong one.
  func role(of guess: String) -> Operator.Role? {
    let digest = SHA256.hash(of: guess.utf8)
    // Both are compared, whatever the first says.
    let isFull = isEqualInConstantTime(digest, full.digest)
    let isReadOnly = readOnly.map { isEqualInConstantTime(digest, $0.digest) } ?? false
    return isFull ? .full : isReadOnly ? .readOnly : nil
  }

  /// What a session of this role keeps of its token; nil where no token has the role.
  func trace(of role: Operator.Role) -> [UInt8]? { role == .full ? full.trace : readOnly?.trace }
}
