/// One thing that the doctor looked at.
public struct Finding: Codable, Sendable, Hashable {
  /// How it stands with it; the worse, the greater.
  public enum Status: String, Codable, Sendable, Comparable {
    case ok
    /// It works, and something should be done about it.
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

  /// What was looked at.
  public let name: String
  public let status: Status
  /// What was found.
  public let detail: String
  /// What to do about it; nil where nothing is to be done.
  public let advice: String?

  /// All is well.
  public static func ok(_ name: String, _ detail: String) -> Finding {
    Finding(name: name, status: .ok, detail: detail, advice: nil)
  }

  /// It works, and `advice` should be followed.
  public static func warn(_ name: String, _ detail: String, _ advice: String) -> Finding {
    Finding(name: name, status: .warn, detail: detail, advice: advice)
  }

  /// It does not work; `advice` mends it.
  public static func fail(_ name: String, _ detail: String, _ advice: String) -> Finding {
    Finding(name: name, status: .fail, detail: detail, advice: advice)
  }
}
