import Social

/// How many of the reads that take much processor time an API has under way at once: searches by account, feeds by
/// session.
public struct ReadGates: Sendable {
  let searches: FairGate<Int>
  let feeds: FairGate<SessionToken>

  /// - Parameter width: of each.
  public init(width: Int = 3) {
    searches = FairGate(width: width)
    feeds = FairGate(width: width)
  }
}
