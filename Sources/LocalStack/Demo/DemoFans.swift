import DurableJobs
import DurableJobsAdmin
import Foundation
import LibPQClient
import Social

/// The fans' actions: they look up channels, register them and give hearts. A ranking is computed, and computed again
/// after more hearts.
struct DemoFans: Sendable {
  /// The text typed, and the number of fans in the first ranking and joining before the second.
  private static let wishes: [(question: String, fans: Int, later: Int)] = [
    ("@harbour-lights", 16, 0), ("@cedar-strings", 12, 0), ("jazz piano", 9, 0), ("@night-bus-radio", 6, 12),
    ("@paper-kites", 3, 4),
  ]

  func play(on stage: DemoStage, _ pool: PostgresPool) async throws -> DemoReport.Fans {
    let needed = Self.wishes.reduce(0) { $0 + $1.fans + $1.later }
    var fans = try await pool.query("SELECT id FROM accounts ORDER BY id LIMIT \(needed)").decode(Int.self)[...]
    let start = ContinuousClock.now
    var channels: [Channel] = []
    for wish in Self.wishes {
      // All fans of a channel ask the same question, which costs one API call.
      let asking = fans.prefix(wish.fans)
      channels.append(try await find(wish.question, askedBy: Array(asking), on: stage))
    }
    let found = start.duration(to: .now)
    var hearts = 0
    for (wish, channel) in zip(Self.wishes, channels) {
      hearts += try await give(fans.prefix(wish.fans), to: channel, on: stage)
      fans = fans.dropFirst(wish.fans)
    }
    let first = try await rank(expecting: hearts, on: stage, pool)
    for (wish, channel) in zip(Self.wishes, channels) {
      hearts += try await give(fans.prefix(wish.later), to: channel, on: stage)
      fans = fans.dropFirst(wish.later)
    }
    let second = try await rank(expecting: hearts, on: stage, pool)
    var card: Int?
    if let fan = try await pool.query("SELECT min(id) FROM accounts")[0].decode(Int?.self), let channel = channels.first
    {
      card = try await certify(fan, of: channel, on: stage)
    }
    let calls = try await pool.query("SELECT count(*) FROM lookups")[0].decode(Int.self)
    return DemoReport.Fans(
      questions: Self.wishes.reduce(0) { $0 + $1.fans }, lookups: calls, secondsToFind: found / .seconds(1),
      hearts: hearts, first: first, second: second, card: card)
  }

  // MARK: Lookups

  private struct Channel: Decodable {
    let account: String
    let title: String
  }

  private struct Search: Decodable {
    let lookup: String?
    let items: [Channel]?
  }

  private struct Lookup: Decodable {
    let state: String
    let items: [Channel]
    let message: String?
  }

  private func find(_ question: String, askedBy fans: [Int], on stage: DemoStage) async throws -> Channel {
    let allowed = CharacterSet.alphanumerics
    let text = question.addingPercentEncoding(withAllowedCharacters: allowed) ?? question
    var lookups: [(fan: Int, id: String)] = []
    var found: Channel?
    for fan in fans {
      let answer = try await stage.send(
        "GET", "/v1/celebs/search?platform=youtube&q=\(text)", as: fan, expecting: 200, 202)
      let search = try answer.decode(Search.self)
      if let id = search.lookup { lookups.append((fan, id)) }
      if let channel = search.items?.first { found = channel }
    }
    for (fan, id) in lookups { found = try await answer(to: id, question, for: fan, on: stage) ?? found }
    guard let found else { throw OperationError(.failed, "the stand-in service knows no channel for '\(question)'") }
    return found
  }

  private func answer(to id: String, _ question: String, for fan: Int, on stage: DemoStage) async throws -> Channel? {
    let deadline = ContinuousClock.now + .seconds(30)
    while true {
      let lookup = try await stage.get("/v1/lookups/\(id)", as: fan, Lookup.self)
      if lookup.state == "done" { return lookup.items.first }
      guard lookup.state != "failed", .now < deadline else {
        throw OperationError(
          .failed, "the lookup of '\(question)' is \(lookup.state): \(lookup.message ?? "no answer in time")")
      }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  // MARK: Certificates

  private struct Certificate: Decodable {
    let token: String
  }

  /// Issues, verifies and renders a fan's certificate.
  ///
  /// - Returns: the size of its card in bytes; nil if this machine cannot render one.
  private func certify(_ fan: Int, of channel: Channel, on stage: DemoStage) async throws -> Int? {
    let own = "/v1/me/celebs/youtube/\(channel.account)/certificate"
    let certificate = try await stage.get(own, as: fan, Certificate.self)
    let path = "/v1/certificates/\(certificate.token)"
    try await stage.send("GET", path, as: fan, expecting: 200)
    guard PictureWorkshop.isAvailable else { return nil }
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      let answer = try await stage.send("GET", path + "/card.png", as: fan, expecting: 200, 202)
      if answer.status == 200 { return answer.body.count }
      guard .now < deadline else { throw OperationError(.failed, "a certificate's card was not drawn in a minute") }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  // MARK: Hearts and rankings

  /// - Returns: the number of hearts given: each fan's first one, but not the immediate second.
  private func give(_ fans: ArraySlice<Int>, to channel: Channel, on stage: DemoStage) async throws -> Int {
    let path = "/v1/me/celebs/youtube/\(channel.account)"
    for (number, fan) in fans.enumerated() {
      try await stage.send("PUT", path, as: fan, expecting: 200)
      try await stage.send("POST", path + "/hearts", as: fan, expecting: 201)
      if number == 0 { try await stage.send("POST", path + "/hearts", as: fan, expecting: 429) }
    }
    return fans.count
  }

  private struct Ranking: Decodable {
    let items: [Item]

    struct Item: Decodable {
      let rank: Int
      let previousRank: Int?
      let title: String?
      let account: String
      let hearts: Int
      let followers: Int
    }
  }

  /// Recomputes the ranking until it counts all hearts, and shows it.
  private func rank(
    expecting hearts: Int, on stage: DemoStage, _ pool: PostgresPool
  ) async throws -> [DemoReport.Ranked] {
    // The hearts' own jobs must finish first, or the ranking would count fewer.
    try await stage.waitUntilNothingIsPending()
    _ = try await pool.transaction { try await RankingRefresh().run(in: $0) }
    let viewer = try await pool.query("SELECT min(id) FROM accounts")[0].decode(Int.self)
    let ranking = try await stage.get("/v1/rankings/youtube?by=hearts&window=day&limit=10", as: viewer, Ranking.self)
    let counted = ranking.items.reduce(0) { $0 + $1.hearts }
    guard counted == hearts else {
      throw OperationError(.failed, "the ranking counts \(counted) hearts, and \(hearts) were given")
    }
    return ranking.items.map { item in
      DemoReport.Ranked(
        rank: item.rank, previousRank: item.previousRank, title: item.title ?? item.account, hearts: item.hearts,
        fans: item.followers)
    }
  }
}
