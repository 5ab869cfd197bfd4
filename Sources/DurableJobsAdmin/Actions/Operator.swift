import Foundation

/// Who does something, as the action log names them.
public struct Operator: Sendable, Hashable, Codable {
  /// What somebody may do.
  public enum Role: String, Sendable, Hashable, Codable, CaseIterable {
    case full
    /// Look, and change nothing.
    case readOnly = "read-only"
  }

  public let name: String
  public let role: Role

  public init(name: String, role: Role = .full) {
    self.name = name
    self.role = role
  }

  /// Whoever is at this terminal, by the name under which they are logged in.
  public static var terminal: Operator {
    let environment = ProcessInfo.processInfo.environment
    let name = environment["SUDO_USER"] ?? environment["USER"] ?? environment["LOGNAME"] ?? ""
    return Operator(name: name.isEmpty ? "terminal" : "\(name) (terminal)")
  }

  /// - Throws: `.forbidden` for somebody who may only look.
  func mustBeAbleToAct() throws(OperationError) {
    if role != .full { throw OperationError(.forbidden, "\(name) may look and change nothing") }
  }
}
