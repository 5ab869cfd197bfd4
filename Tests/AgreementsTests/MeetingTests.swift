import Crypto
import Foundation
import Testing

@testable import Agreements

@Suite struct MeetingTests {
  @Test func twoDevicesShowTheSameWordsAndTalk() throws {
    var (host, joiner) = (try Device(.host), try Device(.joiner))
    let words = try Agreed.introduce(&host, &joiner)
    #expect(words.host == words.joiner && words.host.count == 4)
    #expect(Set(AgreementWords.list).count == 256 && words.host.allSatisfy(AgreementWords.list.contains))
    #expect(host.meeting.transcript == joiner.meeting.transcript)

    let record = try Agreed.record(host, joiner)
    for message in [.place(host.place), .record(record), .decline] as [AgreementMessage] {
      #expect(try joiner.meeting.open(sealed: host.meeting.seal(message)) == message)
      #expect(try host.meeting.open(sealed: joiner.meeting.seal(message)) == message)
    }
    // Nothing of it can be read on the way.
    let sealed = try host.meeting.seal(.record(record))
    for plain in [Agreed.text, "Ann's phone", "37566500"] {
      #expect(Data(sealed).range(of: Data(plain.utf8)) == nil)
    }
    try record.check(
      text: Agreed.text, place: joiner.place, host: host.party, joiner: joiner.party, expiresAt: Agreed.end,
      now: Agreed.date)
    let copies = (try host.meeting.copy(of: record), try joiner.meeting.copy(of: record))
    #expect(copies.0 == copies.1)
    try copies.0.check(hostSignature: try host.meeting.sign(record), joinerSignature: try joiner.meeting.sign(record))
  }

  @Test func wordsComeFromBothKeysAndBothNonces() throws {
    var shown: Set<[String]> = []
    for _ in 0..<200 {
      var (host, joiner) = (try Device(.host), try Device(.joiner))
      shown.insert(try Agreed.introduce(&host, &joiner).host)
    }
    #expect(shown.count == 200)
  }

  /// The server gives each device its own keys: a man in the middle.
  @Test func aServerInTheMiddleIsSeen() throws {
    for _ in 0..<200 {
      var (host, joiner) = (try Device(.host), try Device(.joiner))
      var (asJoiner, asHost) = (try Device(.joiner), try Device(.host))
      let toHost = try Agreed.introduce(&host, &asJoiner).host
      let toJoiner = try Agreed.introduce(&asHost, &joiner).joiner
      #expect(toHost != toJoiner)
      // It reads each message, but the other side does not accept what one signed.
      let record = try Agreed.record(host, joiner)
      let (forHost, own) = (try host.meeting.sign(record), try joiner.meeting.sign(record))
      let copy = try joiner.meeting.copy(of: record)
      #expect(try code { try copy.check(hostSignature: forHost, joinerSignature: own) } == .forged)
    }
  }

  /// Having seen a device's nonce, the attacker searches for one that makes the same words. The commitment prevents it.
  @Test func noNonceIsChosenAfterTheOthersAreSeen() throws {
    var (host, joiner) = (try Device(.host), try Device(.joiner))
    let introduction = joiner.meeting.introduction
    let other = AgreementKeys()
    _ = try host.meeting.meet(publicKey: introduction.publicKey, commitment: introduction.commitment)
    for nonce in [other.nonce, [UInt8](repeating: 0, count: 32), []] {
      var attempt = host
      #expect(try code { _ = try attempt.meeting.open(nonce) } == .brokenCommitment)
    }
    // Neither another key under the same commitment nor a commitment of the other side works.
    var second = try Device(.host)
    let opening = try second.meeting.meet(
      publicKey: other.publicKey.bytes, commitment: introduction.commitment)
    #expect(opening.count == 32)
    let real = try joiner.meeting.meet(
      publicKey: host.meeting.introduction.publicKey, commitment: host.meeting.introduction.commitment)
    #expect(try code { _ = try second.meeting.open(real) } == .brokenCommitment)
    #expect(try code { _ = try host.meeting.open(real) } == nil)
  }

  @Test func aReflectionIsNoPeer() throws {
    var host = try Device(.host)
    let own = host.meeting.introduction
    #expect(try code { _ = try host.meeting.meet(publicKey: own.publicKey, commitment: own.commitment) } == .tampered)
    // The other role commits differently: a host's commitment opens nothing as joiner.
    let keys = AgreementKeys()
    #expect(keys.commitment(as: .host) != keys.commitment(as: .joiner))
  }

  @Test func everythingHasItsTurn() throws {
    var (host, joiner) = (try Device(.host), try Device(.joiner))
    #expect(try code { _ = try host.meeting.open([UInt8](repeating: 0, count: 32)) } == .outOfTurn)
    #expect(try code { _ = try host.meeting.seal(.decline) } == .outOfTurn)
    #expect(try code { _ = try host.meeting.open(sealed: [1]) } == .outOfTurn)
    let record = try Agreed.record(host, joiner)
    #expect(try code { _ = try host.meeting.sign(record) } == .outOfTurn)
    #expect(try code { _ = try host.meeting.copy(of: record) } == .outOfTurn)
    _ = try Agreed.introduce(&host, &joiner)
    let again = joiner.meeting.introduction
    #expect(
      try code { _ = try host.meeting.meet(publicKey: again.publicKey, commitment: again.commitment) } == .outOfTurn)
    var third = try Device(.host)
    for (key, commitment) in [([1, 2], again.commitment), (again.publicKey, [1])] as [([UInt8], [UInt8])] {
      #expect(try code { _ = try third.meeting.meet(publicKey: key, commitment: commitment) } == .malformed)
    }
    // A key that yields no shared secret.
    let zero = [UInt8](repeating: 0, count: 32) + again.publicKey.suffix(32)
    let nonce = [UInt8](repeating: 7, count: 32)
    let commitment = AgreementKeys.commitment(to: try AgreementPublicKey(zero), nonce, as: .joiner)
    _ = try third.meeting.meet(publicKey: zero, commitment: commitment)
    #expect(try code { _ = try third.meeting.open(nonce) } == .malformed)
  }

  @Test func noMessageIsChangedRepeatedOrLeftOut() throws {
    var (host, joiner) = (try Device(.host), try Device(.joiner))
    _ = try Agreed.introduce(&host, &joiner)
    let first = try host.meeting.seal(.place(host.place))
    for place in first.indices {
      var changed = first
      changed[place] ^= 1
      #expect(try code { _ = try joiner.meeting.open(sealed: changed) } == .tampered)
    }
    #expect(try code { _ = try joiner.meeting.open(sealed: Array(first.dropLast())) } == .tampered)
    #expect(try code { _ = try joiner.meeting.open(sealed: []) } == .tampered)
    // A device's own message, sent back.
    #expect(try code { _ = try host.meeting.open(sealed: first) } == .tampered)
    #expect(try joiner.meeting.open(sealed: first) == .place(host.place))
    #expect(try code { _ = try joiner.meeting.open(sealed: first) } == .tampered)
    let second = try host.meeting.seal(.decline)
    let third = try host.meeting.seal(.decline)
    #expect(try code { _ = try joiner.meeting.open(sealed: third) } == .tampered)
    #expect(try joiner.meeting.open(sealed: second) == .decline)
    #expect(try joiner.meeting.open(sealed: third) == .decline)
    // Of another meeting.
    var (one, other) = (try Device(.host), try Device(.joiner))
    _ = try Agreed.introduce(&one, &other)
    #expect(try code { _ = try other.meeting.open(sealed: host.meeting.seal(.decline)) } == .tampered)
  }

  /// The vectors in `docs/agreements.md`, for clients in other languages.
  @Test func theVectorsAreThose() throws {
    func bytes(_ first: UInt8) -> [UInt8] { (0..<32).map { first &+ $0 } }
    var host = AgreementMeeting(
      as: .host, keys: try AgreementKeys(agreement: bytes(1), signing: bytes(33), nonce: bytes(65)))
    var joiner = AgreementMeeting(
      as: .joiner, keys: try AgreementKeys(agreement: bytes(97), signing: bytes(129), nonce: bytes(161)))
    let (one, other) = (host.introduction, joiner.introduction)
    let vectors = try Vectors()
    #expect(vectors["host publicKey"] == one.publicKey && vectors["host commitment"] == one.commitment)
    #expect(vectors["joiner publicKey"] == other.publicKey && vectors["joiner commitment"] == other.commitment)
    let opening = try host.meet(publicKey: other.publicKey, commitment: other.commitment)
    let answer = try joiner.meet(publicKey: one.publicKey, commitment: one.commitment)
    let words = try host.open(answer)
    #expect(try joiner.open(opening) == words && vectors.words == words)
    #expect(vectors["transcript"] == host.transcript)
    let sealed = try host.seal(.decline)
    #expect(vectors["host decline"] == sealed)
    let place = try AgreementPlace(latitude: 37.5665, longitude: 126.978, accuracy: 8)
    let record = try AgreementRecord(
      text: Agreed.text, time: Agreed.date, expiresAt: Agreed.end, place: place,
      host: AgreementRecord.Party(username: "ann", device: "Ann's phone"),
      joiner: AgreementRecord.Party(username: "bob", device: "Bob's phone"), salt: bytes(193))
    let (written, hash) = (try record.bytes, try record.hash)
    #expect(vectors["record"] == written && vectors["record hash"] == hash)
    let transcript = try #require(host.transcript)
    #expect(vectors["seal"] == AgreementMeeting.signed(hash, transcript))
    let lock = try PasscodeLock(passcode: "123456", salt: Array(bytes(1).prefix(16)))
    #expect(vectors["proof"] == lock.proof)
  }
}

/// The table of test vectors in the documentation.
private struct Vectors {
  private var values: [String: [UInt8]] = [:]
  var words: [String] = []

  init() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/agreements.md")
    for line in try String(contentsOf: path, encoding: .utf8).split(separator: "\n") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 2, cells[1].hasPrefix("`") else { continue }
      let value = cells[1].filter { $0 != "`" }
      if cells[0] == "words" { words = value.split(separator: " ").map(String.init) }
      values[cells[0]] = Base64URL.bytes(value)
    }
  }

  subscript(name: String) -> [UInt8]? { values[name] }
}
