import Foundation
import LibPQClient
import Social
import TestSupport
import Testing

@testable import SocialAPI

struct JSONTextTests {
  private struct Values: Encodable {
    let text = "\"quoted\" \\ / 김민지 👍 \u{8}\t\n\u{c}\r\u{1}\u{1f}\u{2028}"
    let empty = ""
    let whole = 3.0
    let number = -1.5
    let large = 1e300
    let small: Int16 = -7
    let unsigned = UInt64.max
    let isTrue = true
    let missing: String? = nil
    let null = Nullable<Int>(nil)
    let list = [[1, 2], [], [3]]
    let texts = ["", "[", "{"]
    let noFields: [String: Int] = [:]
    let date = Date(timeIntervalSince1970: 1_700_000_000.125)
    let dates = [Date(timeIntervalSince1970: 0)]
  }

  @Test func writesFieldsInTheirOrder() throws {
    let fields = [
      #""text":"\"quoted\" \\ / 김민지 👍 \b\t\n\f\r\u0001\u001f\#u{2028}""#,
      #""empty":"""#, #""whole":3"#, #""number":-1.5"#, #""large":1e+300"#, #""small":-7"#,
      #""unsigned":18446744073709551615"#, #""isTrue":true"#, #""null":null"#, #""list":[[1,2],[],[3]]"#,
      #""texts":["","[","{"]"#, #""noFields":{}"#, #""date":"2023-11-14T22:13:20.125Z""#,
      #""dates":["1970-01-01T00:00:00.000Z"]"#,
    ]
    let text = String(decoding: try JSONText.bytes(of: Values()), as: UTF8.self)
    #expect(text == "{" + fields.joined(separator: ",") + "}")
  }

  private enum Key: String, CodingKey { case first, second, third }

  /// Nested containers, as generated conformances do not use them.
  private struct Nested: Encodable {
    func encode(to encoder: any Encoder) throws {
      var outer = encoder.container(keyedBy: Key.self)
      var inner = outer.nestedContainer(keyedBy: Key.self, forKey: .first)
      try inner.encode(1, forKey: .first)
      var list = inner.nestedUnkeyedContainer(forKey: .second)
      try list.encodeNil()
      try list.encode("a")
      try outer.encode(2, forKey: .second)
      try [3].encode(to: outer.superEncoder(forKey: .third))
    }
  }

  @Test func closesWhatWasOpened() throws {
    let text = String(decoding: try JSONText.bytes(of: [Nested(), Nested()]), as: UTF8.self)
    let one = #"{"first":{"first":1,"second":[null,"a"]},"second":2,"third":[3]}"#
    #expect(text == "[\(one),\(one)]")
  }

  private struct Nothing: Encodable {
    func encode(to encoder: any Encoder) {}
  }

  @Test func refusesWhatJSONCannotSay() throws {
    #expect(throws: EncodingError.self) { try JSONText.bytes(of: [Double.nan]) }
    #expect(throws: EncodingError.self) { try JSONText.bytes(of: ["a": Float.infinity]) }
    #expect(throws: EncodingError.self) { try JSONText.bytes(of: [Nothing()]) }
  }

  /// Foundation decodes the written values.
  @Test func isReadBack() throws {
    var random = SeededGenerator("JSON texts")
    for _ in 0..<300 {
      let value = Self.value(depth: 4, &random)
      let bytes = try JSONText.bytes(of: value)
      let read = try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
      #expect(Self.sorted(read) == Self.sorted(value), "\(String(decoding: bytes, as: UTF8.self))")
    }
  }

  /// The elements of long lists have two encoders.
  @Test func viewsSayTheSameEitherWay() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      try await api.pool.execute("UPDATE accounts SET name = 'Ann \"\u{1F600}\"', avatar = 'https://example.com/a.png'")
      _ = try await api.open("bob")
      for title in ["plain", "with \\ and \n", "edited"] {
        let body = try JSONEncoder().encode(["title": title, "description": "of \(title)"])
        let answer = try await api.send("POST", "/v1/posts", as: ann, String(decoding: body, as: UTF8.self))
        #expect(answer.status == 201)
      }
      let statements: [PostgresQuery] = [
        """
        INSERT INTO media_files (id, hash, content_type, bytes, width, height)
        SELECT md5(i::text), sha256(i::text::bytea), 'image/png', 100, 3000, 2000 FROM generate_series(1, 2) i
        """,
        "INSERT INTO media (id, owner_id, file_id) SELECT left(id, 22), 1, id FROM media_files",
        """
        UPDATE posts SET media = ARRAY(SELECT id FROM media), media_dimensions = '{3000,2000,3000,2000}'
        WHERE title = 'plain'
        """,
        "UPDATE posts SET edited_at = now() WHERE title = 'edited'",
        "INSERT INTO likes (post_id, account_id) SELECT id, 1 FROM posts",
      ]
      for statement in statements { try await api.pool.execute(statement) }
      let posts = try await Feed.home(seenBy: 1, PageRequest(), in: api.pool)
      #expect(posts.items.count == 3)
      try Self.compare(PageView(posts, PostView.init))
      let found = try await AccountSearch.find("", seenBy: 0, PageRequest(), in: api.pool)
      #expect(found.items.count == 2)
      try Self.compare(PageView(found) { ListedAccountView($0.account, isFollowed: $0.isFollowed) })
    }
  }

  private static func compare(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .custom { date, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
    let own = try JSONDecoder().decode(JSONValue.self, from: Data(try JSONText.bytes(of: value)))
    let other = try JSONDecoder().decode(JSONValue.self, from: try encoder.encode(value))
    #expect(sorted(own) == sorted(other))
  }

  private static func value(depth: Int, _ random: inout SeededGenerator) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &random) {
    case 0: return .null
    case 1: return .bool(.random(using: &random))
    case 2: return .integer(.random(in: .min ... .max, using: &random))
    case 3: return .number(Double.random(in: -1e9...1e9, using: &random))
    case 4: return .string(text(&random))
    case 5: return .array((0..<Int.random(in: 0...4, using: &random)).map { _ in value(depth: depth - 1, &random) })
    default:
      let fields = (0..<Int.random(in: 0...4, using: &random)).map { (text(&random) + "\($0)", $0) }
      return .object(
        Dictionary(uniqueKeysWithValues: fields.map { ($0.0, value(depth: depth - 1, &random)) }))
    }
  }

  private static func text(_ random: inout SeededGenerator) -> String {
    let scalars = (0..<Int.random(in: 0...12, using: &random)).compactMap { _ in
      Unicode.Scalar(UInt32.random(in: Bool.random(using: &random) ? 0...0x7F : 0...0x1FFFF, using: &random))
    }
    return String(String.UnicodeScalarView(scalars))
  }

  /// A text that is the same for equal values, whatever the order of fields.
  private static func sorted(_ value: JSONValue) -> String {
    switch value {
    case .object(let fields):
      let texts = fields.map { "\(Array($0.key.unicodeScalars)):\(sorted($0.value))" }
      return "{\(texts.sorted())}"
    case .array(let items): return "\(items.map(sorted))"
    case .string(let text): return "\(Array(text.unicodeScalars))"
    default: return "\(value)"
    }
  }
}
