/// The counts of one audit.
public struct AuditFinding: Codable, Sendable, Hashable {
  /// The result of an audit.
  public enum Verdict: String, Codable, Sendable, CaseIterable {
    /// Everything matches.
    case exact
    /// Something differs, and pending jobs may still fix it: audit again when they are done.
    case pending
    /// Something differs, and no pending job will fix it.
    case wrong
  }

  /// The name of the comparison, such as `jobs`.
  public let audit: String
  public let verdict: Verdict
  /// How many items were compared.
  public let compared: Int
  /// How many of them differ.
  public let differing: Int
  /// Pending jobs that change the compared items.
  public let pending: Int
  /// The remedy where something differs; nil where nothing does.
  public let advice: String?

  /// - Parameters:
  ///   - audit: the name of the comparison, in a word or two.
  ///   - advice: the remedy where something differs and no pending job may fix it.
  public init(_ audit: String, compared: Int, differing: Int, pending: Int, advice: String) {
    self.audit = audit
    self.compared = compared
    self.differing = differing
    self.pending = pending
    verdict = differing == 0 ? .exact : pending > 0 ? .pending : .wrong
    self.advice =
      switch verdict {
      case .exact: nil
      case .pending: "audit again once the jobs are done"
      case .wrong: advice
      }
  }
}

/// All audits under one verdict.
public struct AuditReport: Codable, Sendable {
  /// The worst verdict of all findings.
  public let verdict: AuditFinding.Verdict
  public let items: [AuditFinding]

  public init(_ items: [AuditFinding]) {
    self.items = items
    verdict =
      items.contains { $0.verdict == .wrong } ? .wrong : items.contains { $0.verdict == .pending } ? .pending : .exact
  }

  public var isExact: Bool { verdict == .exact }
}
