import DurableJobsDashboard
import Foundation
import Hummingbird
import LibPQClient

/// Posts in fan-out.
struct FanOutPages: DashboardPages {
  let menu = [DashboardMenuEntry("Fan-outs", path: "fan-outs")]
  let templates = ["fan-outs": String(decoding: PackageResources.fan_outs_mustache, as: UTF8.self)]

  func add(to routes: inout DashboardRoutes) {
    routes.page("fan-outs", list)
  }

  /// The number of rows shown of each list.
  private static let shown = 50

  private struct Model {
    let hasOpen: Bool
    let open: [Open]
    let moreOpen: String?
    let hasRecent: Bool
    let recent: [Recent]
  }

  private struct Open {
    let post: Int
    let author: String
    let title: String
    let delivered: String
    let followers: String
    let done: Int
    let total: Int
    let percent: Int
    let chunks: String
    let started: PageMoment
  }

  private struct Recent {
    let author: String
    let title: String
    let followers: String
    let took: String
    let finished: PageMoment
  }

  private static var questions: [PostgresQuery] {
    [
      """
      SELECT f.post_id, a.username, p.title, f.delivered, f.followers, f.chunks_done, f.chunks, f.started_at
      FROM fan_outs f JOIN posts p ON p.id = f.post_id JOIN accounts a ON a.id = f.author_id
      WHERE f.finished_at IS NULL ORDER BY f.post_id DESC LIMIT \(Self.shown + 1)
      """,
      """
      SELECT a.username, p.title, f.followers, extract(epoch FROM f.finished_at - f.started_at)::float8, f.finished_at
      FROM (SELECT * FROM fan_outs ORDER BY post_id DESC LIMIT \(2 * Self.shown)) f
        JOIN posts p ON p.id = f.post_id JOIN accounts a ON a.id = f.author_id
      WHERE f.finished_at IS NOT NULL ORDER BY f.post_id DESC LIMIT \(Self.shown / 2)
      """,
    ]
  }

  @Sendable private func list(_ visit: DashboardVisit) async throws -> Response {
    let answers = try await visit.read { try await $0.pipeline(Self.questions) }
    let open = try answers[0].decode(
      Int.self, String.self, String.self, Int.self, Int.self, Int.self, Int.self, Date.self
    ).map { row in
      let (post, author, title, delivered, followers, done, chunks, startedAt) = row
      let total = max(followers, 1)
      return Open(
        post: post, author: author, title: PageFormat.line(title, limit: 60), delivered: PageFormat.number(delivered),
        followers: PageFormat.number(followers), done: min(delivered, total), total: total,
        percent: min(100, delivered * 100 / total), chunks: "\(done) of \(chunks)", started: visit.moment(startedAt))
    }
    let recent = try answers[1].decode(String.self, String.self, Int.self, Double.self, Date.self).map { row in
      Recent(
        author: row.0, title: PageFormat.line(row.1, limit: 60), followers: PageFormat.number(row.2),
        took: PageFormat.duration(row.3), finished: visit.moment(row.4))
    }
    let model = Model(
      hasOpen: !open.isEmpty, open: Array(open.prefix(Self.shown)),
      moreOpen: open.count > Self.shown ? "There are more; these are the newest." : nil, hasRecent: !recent.isEmpty,
      recent: recent)
    return try await visit.page("fan-outs", title: "Fan-outs", model)
  }
}
