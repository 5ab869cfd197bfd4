import DurableJobsDashboard
import Foundation
import Hummingbird
import LibPQClient
import Social

/// Rankings, as fans see them.
struct RankingPages: DashboardPages {
  let menu = [DashboardMenuEntry("Rankings", path: "rankings")]
  let templates = ["rankings": String(decoding: PackageResources.rankings_mustache, as: UTF8.self)]

  func add(to routes: inout DashboardRoutes) {
    routes.page("rankings", list)
  }

  func refusal(of error: any Error) -> DashboardRefusal? { DashboardRefusal(ofSocial: error) }

  private struct Model {
    let platforms: [PageChoice]
    let measures: [PageChoice]
    let spans: [PageChoice]
    let computed: PageMoment?
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

  @Sendable private func list(_ visit: DashboardVisit) async throws -> Response {
    let query = visit.query
    let key = try RankingKey(
      platform: query["platform"] ?? CelebPlatform.allCases.first?.rawValue ?? "", by: query["by"],
      window: query["window"])
    let cursor = try query["before"].map { text throws(DashboardRefusal) in
      guard let number = Int(text) else {
        throw DashboardRefusal(.unprocessableContent, "No such page", "Start again from the first page.")
      }
      return number
    }
    let page = try await visit.read {
      try await Rankings.page(of: key, PageRequest(before: cursor, limit: 50), in: $0)
    }
    let model = Model(
      platforms: PageChoice.all(CelebPlatform.allCases.map(\.rawValue), chosen: key.platform.rawValue),
      measures: PageChoice.all(RankingKey.Measure.allCases.map(\.rawValue), chosen: key.measure.rawValue),
      spans: PageChoice.all(RankingKey.Window.allCases.map(\.rawValue), chosen: key.window.rawValue),
      computed: visit.moment(page.computedAt), hasPlaces: !page.items.isEmpty,
      places: page.items.map { celeb in
        Place(
          rank: celeb.rank, name: celeb.title ?? celeb.account, account: celeb.title == nil ? "" : celeb.account,
          change: Self.change(celeb.change), hearts: PageFormat.number(celeb.hearts),
          fans: PageFormat.number(celeb.followers))
      },
      next: page.next.map { cursor in
        DashboardLink.to(
          "rankings", ("platform", key.platform.rawValue), ("by", key.measure.rawValue),
          ("window", key.window.rawValue), ("before", String(cursor)))
      })
    return try await visit.page("rankings", title: "Rankings", model)
  }

  private static func change(_ places: Int?) -> String {
    switch places {
    case nil: "new"
    case 0?: "–"
    case let places?: (places > 0 ? "▲ " : "▼ ") + PageFormat.number(abs(places))
    }
  }
}
