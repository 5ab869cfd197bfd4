import Foundation

/// The actor behind an operation, as the action log names it.
public struct Operator: Sendable, Hashable, Codable {
  /// The permissions of an operator.
  public enum Role: String, Sendable, Hashable, Codable, CaseIterable {
    case full
    /// Views, and changes nothing.
    case readOnly = "read-only"
  }

  public let name: String
  public let role: Role

  public init(name: String, role: Role = .full) {
    self.name = name
    self.role = role
  }

  /// The operator at this terminal, under the login name.
  public static var terminal: Operator {
    let environment = ProcessInfo.processInfo.environment
    let name = environment["SUDO_USER"] ?? environment["USER"] ?? environment["LOGNAME"] ?? ""
    return Operator(name: name.isEmpty ? "terminal" : "\(name) (terminal)")
  }

  /// - Throws: `.forbidden` for a read-only operator.
  func mustBeAbleToAct() throws(OperationError) {
    if role != .full { throw OperationError(.forbidden, "\(name) has read-only access") }
  }
}
