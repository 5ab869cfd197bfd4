import Foundation
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct JSONStreamTests {
  private func records(
    in text: String, _ wanted: [String], besides others: [String] = [], pieces: Int = 1 << 16
  ) throws -> [String] {
    let path = NSTemporaryDirectory() + "fanmill-stream-\(UUID().uuidString)"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    defer { unlink(path) }
    let stream = try JSONStream(
      file: path, wanted: wanted.compactMap { RecordPattern($0) }, others: others.compactMap { RecordPattern($0) },
      pieceSize: pieces)
    var found: [String] = []
    while let record = try stream.next() {
      let text = record.bytes.map { String(decoding: $0, as: UTF8.self) } ?? "too large"
      found.append("\(record.path.joined(separator: "/")) \(text)")
    }
    return found
  }

  private static let document = """
    { "__collections__" : {"users": {"a\\"b": {"name":"A {x} \\" [", "n" : [1, 2 ,{"z": null}],
      "__collections__": {"likes": {"p1": true, "p2": {"t": 1}}}, "last": 5}, "c": {}},
     "posts": {"p1": {"title": "x", "comments": {"c1": {"text": "hi"}, "c2": {"text":"y"}}, "likes": 3}}}, "z": "end" }
    """

  @Test func findsRecordsWhateverThePieces() throws {
    var generator = SeededGenerator("JSONStreamTests")
    for pieces in [1, 2, 3, 5, 1 << 16] + (0..<5).map({ _ in Int.random(in: 1...200, using: &generator) }) {
      #expect(
        try records(
          in: Self.document, ["users/{user}"], besides: ["users/{user}/likes/{post}", "posts/{post}"], pieces: pieces)
          == [#"users/a"b {"name":"A {x} \" [","n":[1,2,{"z":null}],"last":5}"#, "users/c {}"])
      #expect(
        try records(in: Self.document, ["users/{user}/likes/{post}"], besides: ["users/{user}"], pieces: pieces)
          == [#"users/a"b/likes/p1 true"#, #"users/a"b/likes/p2 {"t":1}"#])
      #expect(
        try records(in: Self.document, ["posts/{p}"], besides: ["posts/{p}/comments/{c}"], pieces: pieces)
          == [#"posts/p1 {"title":"x","likes":3}"#])
      #expect(try records(in: Self.document, ["none/{a}"], pieces: pieces).isEmpty)
    }
  }

  @Test func findsRecordsInLists() throws {
    #expect(
      try records(in: #"{"users":[{"localId":"a"},{"localId":"b"}]}"#, ["users/{user}"])
        == [#"users/0 {"localId":"a"}"#, #"users/1 {"localId":"b"}"#])
  }

  @Test func gapsOfListsAndWhatIsFalseAreNoRecords() throws {
    #expect(try records(in: #"{"p":[null,{"a":1},null,true],"q":1}"#, ["p/{id}"]) == [#"p/1 {"a":1}"#, "p/3 true"])
    #expect(try records(in: #"{"p":{"a":false,"b":0,"c":"false"}}"#, ["p/{id}"]) == ["p/b 0", #"p/c "false""#])
  }

  @Test func findsRecordsInOthers() throws {
    #expect(
      try records(
        in: #"{"c":{"1":{"t":"a","replies":{"2":{"t":"b"},"3":true},"u":1},"4":{"t":"d"}}}"#,
        ["c/{id}", "c/{id}/replies/{reply}"])
        == [#"c/1/replies/2 {"t":"b"}"#, "c/1/replies/3 true", #"c/1 {"t":"a","u":1}"#, #"c/4 {"t":"d"}"#])
  }

  @Test func aRecordThatIsTooLargeIsLeftOutAndTheNextOneIsNot() throws {
    let large = String(repeating: "x", count: JSONStream.maxBytes)
    #expect(
      try records(in: #"{"p":{"a":{"t":"\#(large)","u":1},"b":{"t":1},"c":"\#(large)"}}"#, ["p/{id}"])
        == ["p/a too large", #"p/b {"t":1}"#, "p/c too large"])
  }

  @Test(arguments: [
    "", " ", "x", "{\"a\":", "{\"a\":1", "{\"a\" 1}", "{\"a\":1}}", "{\"users\":{\"a\":{\"b\":}}}",
    "{\"users\":{\"a\":{\"b\":1,}}}", "{\"users\":{\"a\":{\"b\" \"c\"}}}", "{\"a\":\"x\n\"}", "[1 2]",
  ])
  func namesThePlaceOfABrokenFile(text: String) {
    for pieces in [1, 4096] {
      let failure = #expect(throws: JSONStream.Failure.self) {
        _ = try records(in: text, ["users/{u}"], pieces: pieces)
      }
      #expect(failure?.isUnreadable == false)
      #expect(failure?.description.contains("(byte ") == true)
    }
  }

  @Test func namesAFileThatCannotBeRead() {
    let failure = #expect(throws: JSONStream.Failure.self) {
      _ = try JSONStream(file: "/nowhere/at-all", wanted: [], others: [])
    }
    #expect(failure?.isUnreadable == true)
  }

  @Test func readsValues() throws {
    let text = #"""
      {"a":"\u00e9\ud83d\ude00\ud83dx\n","b":-1.5e3,"c":[true,false,null],"d":{"e":{"f":7}},"g":"12"}
      """#
    let value = try JSONDatum(Array(text.utf8))
    #expect(value["a"]?.text == "é😀\u{FFFD}x\n")
    #expect(value["b"] == .number(-1500))
    #expect(value["c"] == .array([.bool(true), .bool(false), .null]))
    #expect(value.member(at: "d.e.f")?.integer == 7)
    #expect(value["g"]?.integer == 12 && value["h"] == nil)
    #expect(try JSONDatum(value.json) == value)
  }

  @Test(
    arguments: [
      (#"{"__datatype__":"timestamp","value":{"_seconds":1700000000,"_nanoseconds":500000000}}"#, 1_700_000_000.5),
      (#"{"_seconds":1700000000}"#, 1_700_000_000), (#"{"seconds":1700000000,"nanoseconds":0}"#, 1_700_000_000),
      ("1700000000", 1_700_000_000), ("1700000000123", 1_700_000_000.123), (#""1700000000123""#, 1_700_000_000.123),
      (#""2023-11-14T22:13:20Z""#, 1_700_000_000), (#""2023-11-14T22:13:20.500Z""#, 1_700_000_000.5),
      ("-5", nil), ("true", nil), (#""yesterday""#, nil), ("1e300", nil), ("{}", nil),
    ] as [(String, Double?)])
  func readsTimes(text: String, seconds: Double?) throws {
    let date = try JSONDatum(Array(text.utf8)).date
    if let seconds {
      #expect(abs((date?.timeIntervalSince1970 ?? 0) - seconds) < 0.0005)
    } else {
      #expect(date == nil)
    }
  }

  @Test(arguments: [
    "{", "[1,]", "{\"a\":tru}", "\"\\x\"", "1 2", "nul", "--1", "+5", "-.5", String(repeating: "[", count: 100),
  ])
  func refusesWhatIsNoValue(text: String) {
    #expect(throws: JSONDatum.Malformed.self) { _ = try JSONDatum(Array(text.utf8)) }
  }

  @Test(
    arguments: [
      ("posts/a.png", .path("posts/a.png")), ("/posts/a.png", .path("posts/a.png")),
      ("gs://app.appspot.com/posts/a b.png", .path("posts/a b.png")),
      (
        "https://firebasestorage.googleapis.com/v0/b/app.appspot.com/o/posts%2Fa%20b.png?alt=media&token=x",
        .path("posts/a b.png")
      ),
      ("https://storage.googleapis.com/app.appspot.com/posts/a.png", .path("posts/a.png")),
      ("https://lh3.googleusercontent.com/a/x", .external), ("../secret", .malformed), ("a/../b", .malformed),
      ("gs://app", .malformed), ("", .malformed),
      ("https://firebasestorage.googleapis.com/v0/b/app/o/..%2F..%2Fetc%2Fpasswd", .malformed),
    ] as [(String, StoragePath.Reading)])
  func readsPlacesOfPictures(text: String, reading: StoragePath.Reading) { #expect(StoragePath.read(text) == reading) }
}
