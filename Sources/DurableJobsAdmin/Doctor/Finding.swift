/// The result of one check by the doctor.
public struct Finding: Codable, Sendable, Hashable {
  /// How serious the finding is; a worse one compares greater.
  public enum Status: String, Codable, Sendable, Comparable {
    case ok
    /// It works, but needs attention.
    case warn
    /// It does not work.
    case fail

    private var rank: Int {
      switch self {
      case .ok: 0
      case .warn: 1
      case .fail: 2
      }
    }
    public static func < (one: Status, other: Status) -> Bool { one.rank < other.rank }
  }

  /// The subject of the check.
  public let name: String
  public let status: Status
  /// The result.
  public let detail: String
  /// The remedy; nil if none is needed.
  public let advice: String?

  /// A finding without a problem.
  public static func ok(_ name: String, _ detail: String) -> Finding {
    Finding(name: name, status: .ok, detail: detail, advice: nil)
  }

  /// A finding about something that works and for which `advice` should be followed.
  public static func warn(_ name: String, _ detail: String, _ advice: String) -> Finding {
    Finding(name: name, status: .warn, detail: detail, advice: advice)
  }

  /// A finding about something that does not work; `advice` fixes it.
  public static func fail(_ name: String, _ detail: String, _ advice: String) -> Finding {
    Finding(name: name, status: .fail, detail: detail, advice: advice)
  }
}
