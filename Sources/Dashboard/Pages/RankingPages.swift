import Foundation
import Hummingbird
import LibPQClient
import Social

/// Rankings, as fans see them.
struct RankingPages: Sendable {
  let kit: Kit

  func add(to routes: inout Routes) {
    routes.page("rankings", list)
  }

  private struct Model {
    let platforms: [Choice]
    let measures: [Choice]
    let spans: [Choice]
    let computed: Moment?
    let hasPlaces: Bool
    let places: [Place]
    let next: String?
  }

  private struct Place {
    let rank: Int
    let name: String
    let account: String
    let change: String
    let hearts: String
    let fans: String
  }

  @Sendable private func list(_ visit: Visit) async throws -> Response {
    let query = visit.query
    let key = try RankingKey(
      platform: query["platform"] ?? CelebPlatform.allCases.first?.rawValue ?? "", by: query["by"],
      window: query["window"])
    let cursor = try query["before"].map { text throws(Refusal) in
      guard let number = Int(text) else {
        throw Refusal(.unprocessableContent, "That is no page", "Begin again with the first one.")
      }
      return number
    }
    let page = try await kit.read(visit) {
      try await Rankings.page(of: key, PageRequest(before: cursor, limit: 50), in: $0)
    }
    let model = Model(
      platforms: Choice.all(CelebPlatform.allCases.map(\.rawValue), chosen: key.platform.rawValue),
      measures: Choice.all(RankingKey.Measure.allCases.map(\.rawValue), chosen: key.measure.rawValue),
      spans: Choice.all(RankingKey.Window.allCases.map(\.rawValue), chosen: key.window.rawValue),
      computed: kit.moment(page.computedAt), hasPlaces: !page.items.isEmpty,
      places: page.items.map { celeb in
        Place(
          rank: celeb.rank, name: celeb.title ?? celeb.account, account: celeb.title == nil ? "" : celeb.account,
          change: Self.change(celeb.change), hearts: Format.number(celeb.hearts), fans: Format.number(celeb.followers))
      },
      next: page.next.map { cursor in
        Link.to(
          "/admin/rankings", ("platform", key.platform.rawValue), ("by", key.measure.rawValue),
          ("window", key.window.rawValue), ("before", String(cursor)))
      })
    return try await kit.page(visit, "rankings", title: "Rankings", at: "/admin/rankings", model)
  }

  private static func change(_ places: Int?) -> String {
    switch places {
    case nil: "new"
    case 0?: "–"
    case let places?: (places > 0 ? "▲ " : "▼ ") + Format.number(abs(places))
    }
  }
}
