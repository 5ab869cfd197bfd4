import Agreements
import Cryptography
import Foundation
import Testing

/// A device that meets another one through the API, as an app does.
struct Phone: Sendable {
  let api: API
  let name: String
  let token: String
  var meeting: AgreementMeeting
  var id = 0

  /// Opens an adult's account.
  static func make(_ name: String, _ role: AgreementRole, _ api: API) async throws -> Phone {
    Phone(
      api: api, name: name, token: try await api.openAdult(name), meeting: AgreementMeeting(as: role))
  }

  var introduction: [String: Any] {
    let (key, commitment) = meeting.introduction
    return ["publicKey": Base64URL.text(key), "commitment": Base64URL.text(commitment)]
  }

  func send(_ method: String, _ path: String, _ body: [String: Any]? = nil) async throws -> API.Reply {
    let text = try body.map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) }
    return try await api.send(method, "/v1/agreements" + path, as: token, text)
  }

  /// Sends a request about its meeting.
  func say(_ method: String, _ path: String = "", _ body: [String: Any]? = nil) async throws -> API.Reply {
    try await send(method, "/meetings/\(id)" + path, body)
  }

  // MARK: Meeting

  /// - Returns: the code.
  mutating func begin() async throws -> String {
    let begun = try await send("POST", "/meetings", introduction)
    try #require(begun.status == 201, "\(begun.status) \(begun.json)")
    id = try #require(begun.json["id"] as? Int)
    return try #require(begun.json["code"] as? String)
  }

  func join(_ host: String, _ code: String) async throws -> API.Reply {
    try await send("POST", "/meetings/join", introduction.merging(["host": host, "code": code]) { $1 })
  }

  private func peer(_ field: String) async throws -> [UInt8] {
    let peer = try await say("GET").json["peer"] as? [String: Any]
    return try Self.bytes(peer?[field])
  }

  /// The bytes in a field of a response.
  static func bytes(_ value: Any?) throws -> [UInt8] {
    try #require((value as? String).flatMap { Base64URL.bytes($0) })
  }

  /// Sends its opening.
  mutating func give() async throws {
    let (key, commitment) = (try await peer("publicKey"), try await peer("commitment"))
    let nonce = try meeting.meet(publicKey: key, commitment: commitment)
    let reply = try await say("PUT", "/opening", ["nonce": Base64URL.text(nonce)])
    try #require(reply.status == 204, "\(reply.status) \(reply.json)")
  }

  /// Receives the peer's opening.
  ///
  /// - Returns: the words.
  mutating func take() async throws -> [String] {
    try meeting.open(await peer("nonce"))
  }

  /// Two devices that have met.
  static func meet(_ api: API, _ host: String = "ann", _ joiner: String = "bob") async throws -> (Phone, Phone) {
    var host = try await make(host, .host, api)
    var joiner = try await make(joiner, .joiner, api)
    let code = try await host.begin()
    let joined = try await joiner.join(host.name, code)
    try #require(joined.status == 200, "\(joined.status) \(joined.json)")
    joiner.id = try #require(joined.json["id"] as? Int)
    try await host.give()
    try await joiner.give()
    let (one, other) = (try await host.take(), try await joiner.take())
    try #require(one == other)
    return (host, joiner)
  }

  // MARK: Sealing

  static let text = "We agree to draw each other's portrait."

  func record(with joiner: Phone, text: String = Phone.text, device: String = "phone") throws -> AgreementRecord {
    try AgreementRecord(
      text: text, time: Date(),
      place: AgreementPlace(latitude: 37.5665, longitude: 126.978, accuracy: 8),
      host: AgreementRecord.Party(username: name, device: "\(name)'s \(device)"),
      joiner: AgreementRecord.Party(username: joiner.name, device: "\(joiner.name)'s \(device)"))
  }

  func seal(_ record: AgreementRecord, key: [UInt8]) throws -> [String: Any] {
    [
      "hash": Base64URL.text(try record.hash), "signature": Base64URL.text(try meeting.sign(record)),
      "copy": Base64URL.text(try meeting.copy(of: record).seal(with: key)), "expiresAt": record.expiresAt,
    ]
  }

  /// Its copy and its receipt, verified as in an app.
  func sealed(_ key: [UInt8]) async throws -> (record: AgreementRecord, receipt: AgreementReceipt) {
    let item = try await send("GET", "/\(id)").json
    let copy = try AgreementCopy(
      sealed: try Self.bytes(item["copy"]), key: key)
    let receipt = try AgreementReceipt(
      try #require(item["receipt"] as? String), keys: try await api.signingKeys(), of: copy)
    return (try copy.record, receipt)
  }
}

extension API {
  func openAdult(_ name: String) async throws -> String {
    let reply = try await send(
      "POST", "/v1/accounts",
      #"{"username":"\#(name)","email":"\#(name)@example.org","password":"a password","name":"\#(name)","adult":true}"#)
    try #require(reply.status == 201, "\(reply.status) \(reply.json)")
    return try #require(reply.json["token"] as? String)
  }

  /// The keys that verify receipts.
  func signingKeys() async throws -> [String: [UInt8]] {
    let keys = try await send("GET", "/.well-known/jwks.json").json["keys"] as? [[String: Any]] ?? []
    return Dictionary(
      keys.compactMap { key in
        guard let id = key["kid"] as? String, let x = key["x"] as? String, let bytes = Base64URL.bytes(x) else {
          return nil
        }
        return (id, bytes)
      }
    ) { first, _ in first }
  }
}
