import ArgumentParser
import Bootstrap
import DurableJobsCLI
import LibPQClient
import Social
import SocialAdmin

struct NotificationsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "notifications", abstract: "Audit the notifications.", subcommands: [Audit.self])

  struct Audit: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "audit",
      abstract: "Compare every notification and every count with likes, comments and follows; exit 1 if one differs.",
      discussion:
        "While jobs are pending, missing notifications may be expected: audit again once they finish."
    )
    @OptionGroup var common: CommonOptions
    @OptionGroup var shown: ExampleOptions

    func run() async throws {
      try await common.withDatabase { database in
        let audit = try await NotificationAudit.run(examples: shown.examples, on: database)
        try common.output.one(NotificationAuditReport(audit)) { $0.text }
        if !audit.isExact { throw ExitStatus.failure }
      }
    }
  }
}

/// The result of an audit of notifications, for output.
struct NotificationAuditReport: Encodable {
  struct Row: Encodable {
    /// `missing`, `stale` or `miscounted`.
    let problem: String
    let username: String
    let ownerId: Int
    var type: Int?
    var actorId: Int?
    var postId: Int?
    var commentId: Int?
    /// The stored count, and the actual one.
    var kept: [Int]?
    var unread: [Int]?
  }

  let exact: Bool
  let expected: Int
  let found: Int
  let missing: Int
  let stale: Int
  let miscounted: Int
  let pending: Int
  /// The first differences.
  let items: [Row]

  init(_ audit: NotificationAudit) {
    func rows(_ rows: [NotificationAudit.Row], _ problem: String) -> [Row] {
      rows.map { row in
        Row(
          problem: problem, username: row.username, ownerId: row.owner, type: Int(row.type.rawValue),
          actorId: row.actor, postId: row.post == 0 ? nil : row.post, commentId: row.comment == 0 ? nil : row.comment)
      }
    }
    exact = audit.isExact
    expected = audit.expected
    found = audit.found
    missing = audit.missing
    stale = audit.stale
    miscounted = audit.miscounted
    pending = audit.pending
    items =
      rows(audit.missingRows, "missing") + rows(audit.staleRows, "stale")
      + audit.miscountedOwners.map { count in
        Row(
          problem: "miscounted", username: count.username, ownerId: count.owner, kept: [count.kept, count.keptFound],
          unread: [count.unread, count.unreadFound])
      }
  }

  var text: String {
    let under = pending == 0 ? "" : "; \(pending.grouped) jobs are still writing some"
    if exact { return "exact: \(found.grouped) notifications, none missing, none extra, all counted\(under)" }
    let table = Table(
      [.text("problem"), .elastic("owner"), .text("what"), .number("actor"), .number("post"), .number("comment")],
      rows: items.map { item in
        [
          item.problem, item.username, Self.what(item), Self.number(item.actorId), Self.number(item.postId),
          Self.number(item.commentId),
        ]
      })
    return """
      NOT exact: \(missing.grouped) notifications are missing and \(stale.grouped) are stale, of \(expected.grouped) \
      expected, and \(miscounted.grouped) owners are miscounted\(under)
      \(table.text(on: .output))
      """
  }

  private static func what(_ item: Row) -> String {
    if let type = item.type { return NotificationType(rawValue: Int16(clamping: type)).description }
    let (kept, unread) = (item.kept ?? [0, 0], item.unread ?? [0, 0])
    return "\(kept[0]) instead of \(kept[1]), \(unread[0]) unread instead of \(unread[1])"
  }

  private static func number(_ value: Int?) -> String { value.map(String.init) ?? "" }
}
