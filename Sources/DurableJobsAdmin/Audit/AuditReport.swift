/// What one audit found, in numbers.
public struct AuditFinding: Codable, Sendable, Hashable {
  /// What it comes to.
  public enum Verdict: String, Codable, Sendable, CaseIterable {
    /// All is as it should be.
    case exact
    /// Something differs, and jobs are pending that may put it right: audit again when they are done.
    case pending
    /// Something differs that nobody is about to put right.
    case wrong
  }

  /// What was compared, such as `jobs`.
  public let audit: String
  public let verdict: Verdict
  /// How many were compared.
  public let compared: Int
  /// How many of them differ.
  public let differing: Int
  /// Pending jobs and change what was compared.
  public let pending: Int
  /// What to do where something differs; nil where nothing does.
  public let advice: String?

  /// - Parameters:
  ///   - audit: what was compared, in a word or two.
  ///   - advice: what to do where something differs and no pending job may put it right.
  public init(_ audit: String, compared: Int, differing: Int, pending: Int, advice: String) {
    self.audit = audit
    self.compared = compared
    self.differing = differing
    self.pending = pending
    verdict = differing == 0 ? .exact : pending > 0 ? .pending : .wrong
    self.advice =
      switch verdict {
      case .exact: nil
      case .pending: "audit again when the jobs are done"
      case .wrong: advice
      }
  }
}

/// Every audit in one verdict.
public struct AuditReport: Codable, Sendable {
  /// The worst of all.
  public let verdict: AuditFinding.Verdict
  public let items: [AuditFinding]

  public init(_ items: [AuditFinding]) {
    self.items = items
    verdict =
      items.contains { $0.verdict == .wrong } ? .wrong : items.contains { $0.verdict == .pending } ? .pending : .exact
  }

  public var isExact: Bool { verdict == .exact }
}
