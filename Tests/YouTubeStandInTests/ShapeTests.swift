import Foundation
import Testing

@testable import YouTubeStandIn

@Suite("The stand-in's answers", .timeLimit(.minutes(1)))
struct ShapeTests {
  @Test func aSearch() async throws {
    try await withStandIn { stage async throws in
      let answer = try await stage.search("Tom & Jerry's", key: "K")
      #expect(answer.status == 200 && answer.json["kind"] as? String == "youtube#searchListResponse")
      let items = try #require(answer.items)
      let snippets = items.compactMap { $0["snippet"] as? [String: Any] }
      #expect(snippets.first?["title"] as? String == "Tom Jerry S")
      for (item, snippet) in zip(items, snippets) {
        let id = try #require((item["id"] as? [String: Any])?["channelId"] as? String)
        #expect(StandInChannel.isID(id) && snippet["channelId"] as? String == id)
        let title = try #require(snippet["title"] as? String)
        #expect(!title.contains("<") && !title.contains("\"") && !title.contains("'"))
        #expect(((snippet["thumbnails"] as? [String: Any])?["default"] as? [String: Any])?["url"] is String)
      }
      // Always the same, for any key.
      #expect(try await stage.search("tom   JERRY s", key: "other").bytes == answer.bytes)
    }
  }

  @Test func nothingFound() async throws {
    try await withStandIn { stage async throws in
      let search = try await stage.search("nobody at all")
      #expect(search.status == 200 && search.items?.isEmpty == true)
      for filter in ["forHandle=@nobody", "id=UCnothing", "id=UC" + String(repeating: "x", count: 22)] {
        let list = try await stage.channels(filter)
        #expect(list.status == 200 && list.json["items"] == nil && list.json["pageInfo"] != nil)
      }
    }
  }

  /// A channel found by a search is also found by its id and by its handle, unescaped.
  @Test func channelsByIDAndHandle() async throws {
    try await withStandIn { stage async throws in
      for query in ["IU", "IU friends", "Blackpink club", "두 번째", "a b c d"] {
        let found = try #require(try await stage.search(query).items)
        let ids = found.compactMap { ($0["id"] as? [String: Any])?["channelId"] as? String }
        let list = try #require(try await stage.channels("id=" + ids.joined(separator: ",")).items)
        #expect(Set(list.compactMap { $0["id"] as? String }) == Set(ids))
        for channel in list {
          let snippet = try #require(channel["snippet"] as? [String: Any])
          let statistics = try #require(channel["statistics"] as? [String: Any])
          #expect(statistics["subscriberCount"] is String && statistics["viewCount"] is String)
          let handle = try #require(snippet["customUrl"] as? String)
          let escaped = try #require(handle.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
          let again = try #require(try await stage.channels("forHandle=\(escaped)").items)
          #expect(again.first?["id"] as? String == channel["id"] as? String)
          #expect((again.first?["snippet"] as? [String: Any])?["title"] as? String == snippet["title"] as? String)
        }
      }
      // A valid id that was never found by a name is a channel too.
      let unnamed = "UC" + String(repeating: "x", count: 21) + "Q"
      #expect(try await stage.channels("id=\(unnamed)").items?.first?["id"] as? String == unnamed)
    }
  }

  @Test func datesHaveFractionsOrNot() {
    let dates = (0..<50).compactMap { StandInChannel.search("name \($0)", seed: 1).first?.publishedAt }
    #expect(dates.contains { $0.contains(".") } && dates.contains { !$0.contains(".") })
    for date in dates { #expect((date.utf8.count == 20 || date.utf8.count == 27) && date.hasSuffix("Z")) }
  }

  @Test func etags() async throws {
    try await withStandIn {
      $0.searchBudget = 1000
    } _: { stage async throws in
      var quoted = 0
      for query in (0..<20).map({ "etag \($0)" }) {
        let answer = try await stage.search(query)
        let etag = try #require(answer.json["etag"] as? String)
        if etag.hasPrefix("\"") { quoted += 1 }
        let again = try await stage.search(query, etag: etag)
        #expect(again.status == 304 && again.bytes.isEmpty)
        for other in [etag.uppercased(), "W/" + etag, "\"\(etag)\"", "*"] {
          #expect(try await stage.search(query, etag: other).status == 200)
        }
      }
      #expect(1..<20 ~= quoted)
    }
  }

  @Test func fiftyIDsAndNoMore() async throws {
    try await withStandIn { stage async throws in
      let ids = (0..<51).map { "UC" + String(repeating: "x", count: 19) + "\(10 + $0)A" }
      let fifty = try await stage.channels("id=" + ids.prefix(50).joined(separator: ","))
      #expect(fifty.items?.count == 50)
      // Not in the order of the request.
      #expect(fifty.items?.compactMap { $0["id"] as? String } != Array(ids.prefix(50)))
      let more = try await stage.channels("id=" + ids.joined(separator: ","))
      #expect(more.status == 400 && more.reasons == ["invalidFilters"])
    }
  }

  @Test func wrongRequests() async throws {
    try await withStandIn { stage async throws in
      let cases = [
        ("/youtube/v3/search?part=snippet&type=channel&q=x", 403, "forbidden"),
        ("/youtube/v3/search?type=channel&q=x&key=K", 400, "missingRequiredParameter"),
        ("/youtube/v3/search?part=snippet&type=channel&q=x&maxResults=51&key=K", 400, "invalidMaxResults"),
        ("/youtube/v3/channels?part=id&key=K", 400, "missingRequiredParameter"),
        ("/youtube/v3/channels?part=id&id=a&forHandle=b&key=K", 400, "incompatibleParameters"),
      ]
      for (path, status, reason) in cases {
        let answer = try await stage.get(path)
        #expect(answer.status == status && answer.reasons.contains(reason), "\(path)")
      }
      #expect(try await stage.get("/youtube/v3/videos?key=K").status == 404)
    }
  }

  @Test func channelsChange() async throws {
    try await withStandIn { stage async throws in
      let id = "UC" + String(repeating: "y", count: 21) + "A"
      let before = try await stage.channels("id=\(id)")
      #expect(try await stage.control("{\"channel\": \"\(id)\", \"title\": \"Another <name>\"}") == 204)
      let after = try await stage.channels("id=\(id)", etag: before.json["etag"] as? String)
      #expect((after.items?.first?["snippet"] as? [String: Any])?["title"] as? String == "Another <name>")
      #expect(try await stage.control("{\"channel\": \"\(id)\"}") == 204)
      #expect(try await stage.channels("id=\(id)").items == nil)
    }
  }
}
