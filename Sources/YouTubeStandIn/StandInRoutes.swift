import Foundation
import HTTPTypes
import Hummingbird

/// `GET /youtube/v3/search` and `/channels` in the format of the YouTube Data API v3, and `/control`.
struct StandInRoutes: Sendable {
  let control: StandInControl

  func add(to router: Router<BasicRequestContext>) {
    router.get("youtube/v3/search") { request, _ in try await answer(request, .search) }
    router.get("youtube/v3/channels") { request, _ in try await answer(request, .channels) }
    router.get("control") { _, _ in counts() }
    router.post("control") { request, context in try await control(request, context) }
    router.get("readyz") { _, _ in json(.ok, Array(#"{"status":"ready"}"#.utf8)) }
  }

  // MARK: Calls

  private func answer(_ request: Request, _ route: StandInUsage.Route) async throws -> Response {
    if control.configuration.delay > .zero { try await Task.sleep(for: control.configuration.delay) }
    let query = StandInQuery(request)
    let key = query["key"] ?? HTTPField.Name("X-Goog-Api-Key").flatMap { request.headers[$0] }
    let (order, refusal) = control.admit(route, key: key, text: query["q"] ?? query["forHandle"] ?? "")
    if let refusal { return self.refusal(refusal) }
    guard let order else { return ordinary(request, query, route) }
    if let error = StandInError(order.fault) { return self.refusal(error) }
    if order.fault == .slow { try await Task.sleep(for: .seconds(order.seconds ?? 60)) }
    if let broken = StandInBrokenAnswer(order, body(query, route)).response { return broken }
    return ordinary(request, query, route)
  }

  private func ordinary(_ request: Request, _ query: StandInQuery, _ route: StandInUsage.Route) -> Response {
    do throws(StandInError) {
      let (bytes, etag) = try list(query, route)
      // Compared byte by byte: an etag with other quotes is a different etag.
      if request.headers[.ifNoneMatch] == etag {
        if let key = query["key"] { control.countNotModified(key: key) }
        return Response(status: .notModified, headers: [.eTag: etag])
      }
      return json(.ok, bytes, etag: etag)
    } catch {
      return refusal(error)
    }
  }

  private func body(_ query: StandInQuery, _ route: StandInUsage.Route) -> [UInt8] {
    do throws(StandInError) { return try list(query, route).bytes } catch { return error.bytes }
  }

  private func list(
    _ query: StandInQuery, _ route: StandInUsage.Route
  ) throws(StandInError) -> (bytes: [UInt8], etag: String) {
    try route == .search ? search(query) : channels(query)
  }

  private func search(_ query: StandInQuery) throws(StandInError) -> (bytes: [UInt8], etag: String) {
    guard query.list("part").contains("snippet") else { throw .missingParameter("part") }
    guard query["type"] == "channel" else {
      throw .invalid("unexpectedParameter", "This stand-in finds channels only: type=channel belongs here.")
    }
    let limit = try query.maxResults()
    let found = control.search(query["q"] ?? "")
    let items = found.prefix(limit).map { $0.searchResult(etag: etag(of: Array("\($0.id)\($0.title)".utf8))) }
    var fields: [(String, JSONText)] = [("regionCode", .text("US"))]
    if found.count > limit { fields.insert(("nextPageToken", .text("CAUQAA")), at: 0) }
    let paging = JSONText.object([
      ("totalResults", .number(found.isEmpty ? 0 : found.count * 1137)), ("resultsPerPage", .number(limit)),
    ])
    // A search without results returns an empty list.
    return document("youtube#searchListResponse", fields + [("pageInfo", paging), ("items", .array(Array(items)))])
  }

  private func channels(_ query: StandInQuery) throws(StandInError) -> (bytes: [UInt8], etag: String) {
    let parts = Set(query.list("part"))
    guard !parts.isEmpty else { throw .missingParameter("part") }
    let found: [StandInChannel]
    switch (query["id"], query["forHandle"]) {
    case (_?, nil):
      let ids = query.list("id")
      guard ids.count <= 50 else {
        throw .invalid("invalidFilters", "The <code>id</code> filter takes at most 50 ids, and got \(ids.count).")
      }
      var unique: [String] = []
      for id in ids where !unique.contains(id) { unique.append(id) }
      // The service returns channels in an order of its choosing.
      found = control.channels(ids: unique.sorted { $0.reversed().lexicographicallyPrecedes($1.reversed()) })
    case (nil, let handle?): found = [control.channel(handle: handle)].compactMap(\.self)
    case (nil, nil): throw .missingParameter("id, forHandle")
    case (_?, _?): throw .invalid("incompatibleParameters", "Incompatible parameters: id, forHandle.")
    }
    let items = found.map { $0.resource(parts: parts, etag: etag(of: Array("\($0.id)\($0.title)".utf8))) }
    let paging = JSONText.object([
      ("totalResults", .number(items.count)), ("resultsPerPage", .number(max(5, items.count))),
    ])
    // An empty channel list has no `items` field.
    return document(
      "youtube#channelListResponse", [("pageInfo", paging)] + (items.isEmpty ? [] : [("items", .array(items))]))
  }

  private func document(_ kind: String, _ fields: [(String, JSONText)]) -> (bytes: [UInt8], etag: String) {
    let etag = etag(of: JSONText.object(fields).bytes)
    return (JSONText.object([("kind", .text(kind)), ("etag", .text(etag))] + fields).bytes, etag)
  }

  /// 27 characters; some have inner quotes, as older responses of the real service did.
  private func etag(of bytes: [UInt8]) -> String {
    var hash = StableHash(bytes, seed: control.configuration.seed)
    let text = hash.base64(bytes: 20)
    return hash.next(below: 4) == 0 ? "\"XI7n/\(text)\"" : text
  }

  // MARK: Control

  private struct Wish: Decodable {
    var fault: String?
    var times: Int?
    var key: String?
    var route: StandInUsage.Route?
    var seconds: Double?
    var channel: String?
    var title: String?
  }

  /// `{"fault": NAME, "times": N, "key": …, "route": "search", "seconds": S}` orders a fault, `{"fault": null}` cancels
  /// all; `{"channel": ID, "title": …}` renames a channel, or deletes it if the title is missing.
  private func control(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
    let wish = try await request.decode(as: Wish.self, context: context)
    if let channel = wish.channel {
      control.change(channel, title: wish.title)
    } else if let name = wish.fault {
      guard let fault = StandInFault(rawValue: name) else {
        let names = StandInFault.allCases.map(\.rawValue)
        return json(
          .badRequest, JSONText.object([("error", .text("no such fault")), ("faults", .texts(names))]).bytes)
      }
      control.order(
        StandInControl.Order(
          fault: fault, times: wish.times, key: wish.key, route: wish.route, seconds: wish.seconds))
    } else {
      control.cancelOrders()
    }
    return Response(status: .noContent)
  }

  private func counts() -> Response {
    let usage = control.usage
    func fields(_ calls: StandInUsage.Calls) -> [(String, JSONText)] {
      [
        ("search", .number(calls.search)), ("channels", .number(calls.channels)),
        ("notModified", .number(calls.notModified)),
      ]
    }
    let keys = usage.byKey.sorted { $0.key < $1.key }.map { ($0.key, JSONText.object(fields($0.value))) }
    return json(.ok, JSONText.object(fields(usage.all) + [("keys", .object(keys))]).bytes)
  }

  // MARK: Responses

  private func refusal(_ error: StandInError) -> Response { json(.init(code: error.status), error.bytes) }

  private func json(_ status: HTTPResponse.Status, _ bytes: [UInt8], etag: String? = nil) -> Response {
    var headers: HTTPFields = [.contentType: "application/json; charset=UTF-8", .vary: "X-Origin"]
    if let etag { headers[.eTag] = etag }
    return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }
}

/// The parameters of a call.
struct StandInQuery {
  private let request: Request

  init(_ request: Request) { self.request = request }

  subscript(_ name: String) -> String? { request.uri.queryParameters[name[...]].map(String.init) }

  /// A comma-separated list, or a repeated parameter.
  func list(_ name: String) -> [String] {
    request.uri.queryParameters.getAll(name).flatMap { $0.split(separator: ",") }.map {
      $0.trimmingCharacters(in: .whitespaces)
    }
  }

  func maxResults() throws(StandInError) -> Int {
    guard let text = self["maxResults"] else { return 5 }
    guard let number = Int(text), 0...50 ~= number else {
      throw .invalid(
        "invalidMaxResults", "Invalid value '\(text.prefix(20))'. Values must be within the range: [0, 50]")
    }
    return number
  }
}
