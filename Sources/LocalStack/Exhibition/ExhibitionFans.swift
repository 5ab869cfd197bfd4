import DurableJobsAdmin
import Foundation
import HTTPTypes

/// Plays the fans' part of the plan: they look up channels, register them and give hearts.
struct ExhibitionFans: Sendable {
  let plan: ExhibitionPlan
  let cast: ExhibitionCast
  let api: ExhibitionAPI

  private struct Channel: Decodable { let account: String }

  private struct Search: Decodable {
    let lookup: String?
    let items: [Channel]?
  }

  private struct Lookup: Decodable {
    let state: String
    let items: [Channel]
    let message: String?
  }

  /// Finds every channel and registers it for its fans.
  ///
  /// - Returns: the channels' ids at YouTube, in the plan's order.
  func register() async throws -> [String] {
    var channels: [String] = []
    for (number, words) in plan.hearts.channels.enumerated() {
      channels.append(try await find(words, as: cast.callers[(number * 7 + 1) % cast.callers.count]))
    }
    let found = channels
    try await plan.hearts.fans.concurrently { fan in
      try await api.send(
        .put, "me/celebs/youtube/\(found[fan.channel])", as: cast.callers[fan.account], expecting: 200)
    }
    return channels
  }

  /// Gives the hearts of a round. A fan whose heart was counted before an interruption is refused another so soon.
  func give(round: Int, to channels: [String]) async throws {
    try await plan.hearts.fans.filter { $0.round == round }.concurrently { fan in
      let channel = channels[fan.channel]
      try await api.send(
        .post, "me/celebs/youtube/\(channel)/hearts", as: cast.callers[fan.account], key: "demo-heart-\(channel)",
        json: [String: String](), expecting: 201, 429)
    }
  }

  private func find(_ words: String, as caller: ExhibitionAPI.Caller) async throws -> String {
    let text = words.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? words
    let search = try await api.send(
      .get, "celebs/search?platform=youtube&q=\(text)", as: caller, expecting: 200, 202
    ).decode(Search.self)
    if let channel = search.items?.first { return channel.account }
    let deadline = ContinuousClock.now + .seconds(60)
    while let id = search.lookup {
      let lookup = try await api.send(.get, "lookups/\(id)", as: caller, expecting: 200).decode(Lookup.self)
      if lookup.state == "done" {
        guard let channel = lookup.items.first else { break }
        return channel.account
      }
      guard lookup.state != "failed", .now < deadline else {
        throw OperationError(
          .failed, "the lookup of '\(words)' is \(lookup.state): \(lookup.message ?? "no answer in time")")
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw OperationError(.failed, "the stand-in for YouTube knows no channel for '\(words)'")
  }
}
