/// The types of events that hooks can ask for. `docs/webhooks.md` describes the data of each.
public enum WebhookEventType: String, Sendable, CaseIterable {
  case accountCreated = "account.created"
  case accountDeleted = "account.deleted"
  case postCreated = "post.created"
  case postEdited = "post.edited"
  case postDeleted = "post.deleted"
  case commentCreated = "comment.created"
  case commentDeleted = "comment.deleted"
  case likeCreated = "like.created"
  case likeDeleted = "like.deleted"
  case followCreated = "follow.created"
  case followDeleted = "follow.deleted"
  case pictureFailed = "picture.failed"
  case reportCreated = "report.created"
  case certificateIssued = "certificate.issued"
  case rankingRefreshed = "ranking.refreshed"

  /// The event that an operator sends to a single hook. No hook can ask for it.
  public static let test = "webhook.test"

  /// Parses the list of events of a hook: names, or `*` for all.
  ///
  /// - Throws: `invalid_events`.
  public static func list(_ names: [String]) throws(SocialError) -> [WebhookEventType] {
    var found: Set<WebhookEventType> = []
    for name in names {
      if name == "*" {
        found.formUnion(allCases)
        continue
      }
      guard let type = WebhookEventType(rawValue: name) else {
        throw .invalid(
          "events",
          "has '\(name)', which is not an event: use \(allCases.map(\.rawValue).joined(separator: ", ")), or *")
      }
      found.insert(type)
    }
    if found.isEmpty { throw .invalid("events", "must name an event, such as \(postCreated.rawValue), or * for all") }
    return allCases.filter { found.contains($0) }
  }
}
