import DurableJobsTesting
import Foundation
import TestSupport
import Testing

@testable import DurableJobs

@Suite struct PayloadTests {
  struct Mail: Job {
    struct Part: Codable, Hashable {
      var size: UInt8
    }
    enum Color: String, Codable { case red }
    static let kind: JobKind = "test.mail"
    static let payloadVersion = 3
    var to: String
    var when: Date
    var parts: [Part]
    var color: Color?
    var weight: Double?
    var isUrgent: Bool?
  }

  private var registry: JobRegistry<InMemoryLedger> {
    var registry = JobRegistry<InMemoryLedger>()
    registry.register(Mail.self) { _, _ in }
    return registry
  }

  private func problem(_ json: String) -> String {
    guard let entry = registry.entries[Mail.kind] else { return "no entry" }
    do {
      try entry.validate(Array(json.utf8), 3)
      return "none"
    } catch let error as PayloadError {
      return error.problem
    } catch {
      return "another error: \(error)"
    }
  }

  @Test func aPayloadComesBack() throws {
    let mail = Mail(
      to: "größe/\"x\"\n", when: Date(timeIntervalSince1970: 1_700_000_000), parts: [.init(size: 7)], color: .red)
    let record = try JobRecord(mail, isDurable: true)
    #expect(record.version == 3)
    #expect(record.kind == "test.mail")
    let back = try Mail(payload: record.payload, version: 3)
    #expect(back.to == mail.to && back.when == mail.when && back.parts == mail.parts && back.color == .red)
  }

  @Test func theFieldIsNamedAndItsValueIsNot() {
    let good = #""to":"a","when":"2026-01-01T00:00:00Z","parts":[]"#
    #expect(problem("{\(good)}") == "none")
    #expect(problem("{\"when\":\"2026-01-01T00:00:00Z\",\"parts\":[]}") == "field 'to' is missing")
    #expect(problem(good).hasPrefix("it is not valid JSON"))
    #expect(problem("").hasPrefix("it is not valid JSON"))
    #expect(problem("{\(good),\"weight\":1e999}").contains("a number in it does not fit its field"))
    #expect(problem("[]") == "field '(the whole payload)' is not an object")
    #expect(problem("{\"to\":7,\"when\":\"2026-01-01T00:00:00Z\",\"parts\":[]}") == "field 'to' is not a string")
    #expect(problem("{\"to\":null,\"when\":\"2026-01-01T00:00:00Z\",\"parts\":[]}").contains("'to' is null"))
    #expect(problem("{\(good),\"isUrgent\":\"secret\"}") == "field 'isUrgent' is not true or false")
    #expect(problem("{\(good),\"weight\":\"secret\"}") == "field 'weight' is not a number")
    for json in [
      #"{"to":"a","when":"secret","parts":[]}"#, #"{"to":"a","when":"2026-01-01T00:00:00Z","parts":{"secret":1}}"#,
      #"{"to":"a","when":"2026-01-01T00:00:00Z","parts":[{"size":1},{"size":"secret"}]}"#,
      #"{"to":"a","when":"2026-01-01T00:00:00Z","parts":[],"color":"secret"}"#,
    ] {
      let problem = problem(json)
      #expect(problem.hasPrefix("field '"), "\(problem)")
      #expect(!problem.contains("secret"), "\(problem)")
    }
    #expect(
      problem(#"{"to":"a","when":"2026-01-01T00:00:00Z","parts":[{"size":1},{"size":"x"}]}"#)
        == "field 'parts.1.size' is not an integer")
  }

  @Test func theRegistryKnowsWhatItWasTold() {
    struct Other: Job {
      static let kind: JobKind = "test.other"
      static let queue: QueueName = "slow"
    }
    var registry = registry
    registry.registerBatch(Other.self, upTo: 5) { _, _ in }
    #expect(registry.versions == ["test.mail": 3, "test.other": 1])
    #expect(registry.queues == ["default", "slow"])
    #expect(registry.entries["test.other"]?.timeout == .seconds(300))
  }

  @Test func whatCouldNeverBePushedIsRefusedWhenItIsAskedFor() async throws {
    let stage = Stage()
    let bad = [
      JobRecord.test(kind: ""), .test(kind: JobKind(rawValue: String(repeating: "k", count: 256))),
      .test(kind: "a\u{0}"), .test(queue: "no spaces"), .test(queue: "{x}"), .test(queue: ""), .test(version: -1),
      .test(version: 65_536), .test(uniqueKey: "\u{0}"),
    ]
    for record in bad {
      await #expect(throws: InvalidJob.self) {
        try await stage.client.transaction { try await $0.add([.test(), record]) }
      }
    }
    #expect(stage.ledger.pendingCount == 0)
    await #expect(throws: InvalidJob.self) {
      try await stage.client.push(Numbered(number: 1), options: JobOptions(queue: "a b"))
    }
    await #expect(throws: InvalidJob.self) {
      try await stage.client.push([Numbered(number: 1)], options: JobOptions(queue: "a b"))
    }
    #expect(await stage.counts() == QueueCounts())
  }

  /// A kind with its own encoding.
  private struct Raw: Job {
    static let kind: JobKind = "test.raw"
    var bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
    init(payload: [UInt8], version: Int) { bytes = payload }
    func encodedPayload() -> [UInt8] { bytes }
  }

  @Test(
    arguments: [
      [0xFF], [0x41, 0xC3], [0x41, 0xC3, 0x28], [0xED, 0xA0, 0x80], [0xC0, 0x80], [0xF5, 0x80, 0x80, 0x80],
      [0x41, 0x00],
      [0xC3, 0x9F, 0x00],
    ] as [[UInt8]]) func aPayloadThatIsNoTextIsRefusedOnEveryWayIn(_ bytes: [UInt8]) async throws
  {
    let stage = Stage()
    let (good, bad) = (Raw(Array("ß€😀".utf8)), Raw(bytes))
    await #expect(throws: InvalidJob.self) { try await stage.client.enqueue(bad) }
    await #expect(throws: InvalidJob.self) { try await stage.client.enqueue([good, bad]) }
    await #expect(throws: InvalidJob.self) { try await stage.client.push(bad) }
    await #expect(throws: InvalidJob.self) { try await stage.client.push([good, bad]) }
    await #expect(throws: InvalidJob.self) {
      try await stage.client.transaction { transaction in
        _ = try await transaction.add([JobRecord(good, isDurable: true), JobRecord(bad, isDurable: true)])
      }
    }
    #expect(stage.ledger.pendingCount == 0)
    #expect(await stage.counts() == QueueCounts())
    let error = await #expect(throws: InvalidJob.self) { try await stage.client.enqueue(bad) }
    #expect(error?.description.contains("the payload of test.raw is not UTF-8 text: byte ") == true)
    _ = try await stage.client.enqueue([good])
    #expect(stage.ledger.pendingCount == 1)
  }

  @Test func aPayloadOverTheLimitIsRefusedOnEveryWayIn() async throws {
    let stage = Stage()
    let (good, large) = (Raw([0x41]), Raw(Array(repeating: 0x41, count: PayloadLimit.job + 1)))
    let pushed = Raw(Array(repeating: 0x41, count: PayloadLimit.unrecorded + 1))
    let name = "the payload of test.raw has 1048577 bytes, which is over the limit of 1048576: "
    let errors = await [
      #expect(throws: InvalidJob.self) { try await stage.client.enqueue(large) },
      #expect(throws: InvalidJob.self) { try await stage.client.enqueue([good, large]) },
      #expect(throws: InvalidJob.self) {
        _ = try await stage.client.transaction { try await $0.add([JobRecord(large, isDurable: true)]) }
      },
    ]
    for error in errors { #expect(error?.description.hasPrefix(name) == true, "\(String(describing: error))") }
    let pushes = await [
      #expect(throws: InvalidJob.self) { try await stage.client.push(pushed) },
      #expect(throws: InvalidJob.self) { try await stage.client.push([good, pushed]) },
    ]
    let limit = "the payload of test.raw has 65537 bytes, which is over the limit of 65536 for a push: enqueue it"
    for error in pushes { #expect(error?.description == limit) }
    #expect(stage.ledger.pendingCount == 0)
    #expect(await stage.counts() == QueueCounts())

    _ = try await stage.client.enqueue([Raw(Array(repeating: 0x41, count: PayloadLimit.job))])
    _ = try await stage.client.push([Raw(Array(repeating: 0x41, count: PayloadLimit.unrecorded))])
    #expect(stage.ledger.pendingCount == 1)
    #expect(await stage.counts().ready == 2)
  }

  @Test func aPushIsBoundedByItsBytes() throws {
    let jobs = (0..<200).map { Raw(Array(repeating: 0x41, count: 300 * $0)) }[...]
    var (rest, batches) = (jobs, [[JobRecord]]())
    while !rest.isEmpty {
      batches.append(try JobRecord.unrecordedBatch(rest, options: JobOptions()))
      rest = rest.dropFirst(batches[batches.count - 1].count)
    }
    #expect(batches.flatMap { $0 }.map(\.payload) == jobs.map(\.bytes))
    #expect(batches.count == 2)
    for batch in batches { #expect(batch.reduce(0) { $0 + $1.payload.count } <= PayloadLimit.batch) }
    let small = (0..<2500).map { Raw([UInt8(0x41 + $0 % 26)]) }
    #expect(try JobRecord.unrecordedBatch(small[...], options: JobOptions()).count == 1000)
  }

  @Test func recordsAreDividedByNumberAndBytes() {
    func record(_ size: Int, isDurable: Bool = false) -> JobRecord {
      .test(String(repeating: "a", count: size), isDurable: isDurable)
    }
    func counts(_ records: [JobRecord], _ count: Int = .max, isWhole: Bool = false) -> [Int] {
      records[...].batches(of: count, isWhole: isWhole).map(\.count)
    }
    #expect(counts([]).isEmpty)
    #expect(counts((0..<7).map { _ in record(1) }, 3) == [3, 3, 1])
    #expect(counts((0..<9).map { _ in record(1 << 20) }) == [4, 4, 1])
    #expect(counts([record(5 << 20), record(1), record(6 << 20), record(7 << 20)]) == [1, 1, 1, 1])
    // The broker carries only these jobs' ids.
    #expect(counts((0..<9).map { _ in record(1 << 20, isDurable: true) }) == [9])
    #expect(counts((0..<9).map { _ in record(1 << 20, isDurable: true) }, isWhole: true) == [4, 4, 1])
  }

  @Test func theFirstByteThatIsNoTextIsNamed() throws {
    func place(_ bytes: [UInt8]) throws -> Int? {
      let record = try JobRecord(Raw(bytes), isDurable: true)
      do throws(InvalidJob) {
        try record.check()
        return nil
      } catch {
        return error.description.split(separator: " ").compactMap { Int($0) }.first
      }
    }
    #expect(try place(Array("".utf8)) == nil)
    #expect(try place(Array("plain, größe, 😀".utf8)) == nil)
    #expect(try place(Array("größe".utf8) + [0xFF]) == 7)
    #expect(try place([0x41, 0x00, 0xFF]) == 1)
    #expect(try place(Array("ß".utf8) + [0x00]) == 2)
    #expect(try place(Array("a€".utf8) + [0xE2, 0x82]) == 4)
  }

  @Test func anErrorsTextIsShortAndWithoutZeroBytes() {
    let failure = JobFailure(
      attempt: 1, at: .init(unixMilliseconds: 0), error: "a\u{0}b" + String(repeating: "ß", count: 5000), worker: "w")
    #expect(failure.error.utf8.count <= 2003)
    #expect(failure.error.hasPrefix("abß"))
  }

  struct Wrapped<Inner: Codable & Sendable>: Job {
    static var kind: JobKind { "test.wrapped" }
    var inner: Inner
  }

  /// Expects that Foundation's encoding of a value and its payload decode to the same.
  private func expectSame<Value: Codable & Equatable & Sendable>(_ value: Value) throws {
    let payload = try Wrapped(inner: value).encodedPayload()
    #expect(try Wrapped<Value>(payload: payload, version: 1).inner == value)
    let ours = try JSONSerialization.jsonObject(with: Data(payload)) as? NSDictionary
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    let theirs = try JSONSerialization.jsonObject(with: encoder.encode(["inner": value])) as? NSDictionary
    #expect(ours == theirs, "\(String(decoding: payload, as: UTF8.self))")
  }

  @Test func payloadsOfEveryFormSayWhatFoundationSays() throws {
    struct Empty: Codable, Equatable {}
    struct Deep: Codable, Equatable {
      var list: [[Int?]]
      var map: [String: [Mail.Part]]
      var numbered: [Int: String]
      var nothing: String?
      var empty = Empty()
    }
    // `@unchecked Sendable`: instances never change after they are made.
    class Base: Codable, @unchecked Sendable {
      var one = 1
    }
    final class Derived: Base, Equatable, @unchecked Sendable {
      var two = 2
      override init() { super.init() }
      required init(from decoder: any Decoder) throws {
        two = try decoder.container(keyedBy: Key.self).decode(Int.self, forKey: .two)
        try super.init(from: try decoder.container(keyedBy: Key.self).superDecoder())
      }
      override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(two, forKey: .two)
        try super.encode(to: container.superEncoder())
      }
      enum Key: CodingKey { case two, `super` }
      static func == (one: Derived, other: Derived) -> Bool { one.one == other.one && one.two == other.two }
    }
    try expectSame("")
    try expectSame("\u{0}\u{1}\u{1F}\u{7F}\"\\/\n\t\r\u{8}\u{C} größe \u{2028} 👩‍👩‍👧 \u{FFFF}")
    try expectSame([Int8.min, 0, .max])
    try expectSame([UInt64.max, 0, 10, 99, 100])
    try expectSame([Int64.min, .max])
    try expectSame([true, false])
    try expectSame([1.5, -0.0, 1e300])
    try expectSame(Float(0.25))
    try expectSame(Date(timeIntervalSince1970: 1_700_000_000))
    try expectSame(Data([0, 1, 254, 255]))
    try expectSame(URL(string: "https://example.org/a%20b?c=d"))
    try expectSame([String]())
    try expectSame([String: Int]())
    try expectSame(Empty())
    try expectSame(Mail.Color.red)
    try expectSame(Derived())
    try expectSame(
      Deep(
        list: [[], [nil, 1], [2]], map: ["a": [.init(size: 1)], "": []], numbered: [1: "x", -2: "y"], nothing: nil))
    #expect(throws: (any Error).self) { try Mail(to: "", when: .now, parts: [], weight: .nan).encodedPayload() }
  }

  /// Random objects, lists and texts survive encoding and decoding.
  @Test func randomPayloadsComeBack() throws {
    indirect enum Tree: Codable, Equatable, Sendable {
      case flag(Bool)
      case number(Int)
      case text(String?)
      case list([Tree])
      case named(first: Tree, second: [String: Tree])
    }
    let seed = UInt64.random(in: 0 ... .max)
    print("random payloads: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    func tree(_ depth: Int) -> Tree {
      switch Int.random(in: 0...(depth > 0 ? 4 : 2), using: &random) {
      case 0: return .flag(Bool.random(using: &random))
      case 1: return .number(Int(truncatingIfNeeded: UInt64.random(in: 0 ... .max, using: &random)))
      case 2: return .text(Bool.random(using: &random) ? nil : text())
      case 3: return .list((0..<Int.random(in: 0...3, using: &random)).map { _ in tree(depth - 1) })
      default: return .named(first: tree(depth - 1), second: [text(): tree(depth - 1)])
      }
    }
    func text() -> String {
      let scalars = (0..<Int.random(in: 0...12, using: &random)).compactMap { _ in
        Unicode.Scalar(UInt32.random(in: 0...(Bool.random(using: &random) ? 0x7F : 0x10FFFF), using: &random))
      }
      return String(String.UnicodeScalarView(scalars))
    }
    for _ in 0..<500 { try expectSame(tree(4)) }
  }

  /// For any bytes, the payload decoder accepts and rejects the same as Foundation's.
  @Test func damagedPayloadsAreReadAsFoundationReadsThem() throws {
    struct Order: Job, Equatable {
      struct Line: Codable, Equatable {
        var name: String
        var count: Int8
        var isGift: Bool?
      }
      static let kind: JobKind = "test.order"
      var id: UInt16
      var note: String?
      var lines: [Line]
      var tags: [String: Int]?
      var price: Double?
    }
    let seed = UInt64.random(in: 0 ... .max)
    print("damaged payloads: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let whole = [
      #"{"id":7,"lines":[{"count":-3,"name":"größe 👍","isGift":true},{"name":"","count":0}],"note":null,"tags":{"a":1}}"#,
      #" { "id" : 65535 , "note" : "x\n" , "lines" : [ ] , "price" : 1.5 } "#,
      #"{"id":0,"id":1,"lines":[],"extra":[[[{}],[]],true,false,null,-12,1e3],"note":"\u00e9"}"#,
    ].map { Array($0.utf8) }
    let interesting = Array(#"{}[]",:0123456789-+.eE\ntrufalsxé"#.utf8) + [0, 9, 31, 127, 128, 0xC3, 0xFF]
    var good = 0
    for round in 0..<20_000 {
      var bytes = whole[round % whole.count]
      for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        let byte = interesting[Int.random(in: 0..<interesting.count, using: &random)]
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[place] = byte
        case 1: bytes.insert(byte, at: place)
        case 2: bytes.remove(at: place)
        default: bytes.removeSubrange(place..<min(bytes.count, place + 9))
        }
      }
      var theirs: Order?
      do { theirs = try JSONDecoder().decode(Order.self, from: Data(bytes)) } catch {}
      var ours: Order?
      do { ours = try Order(payload: bytes, version: 1) } catch {}
      #expect(ours == theirs, "\(String(decoding: bytes, as: UTF8.self))")
      if ours != nil { good += 1 }
    }
    #expect(good > 2000)
  }
}
