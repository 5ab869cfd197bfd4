import Crypto
import Foundation
import Testing

@testable import Agreements

@Suite struct RecordTests {
  @Test func devicesThatAreFarApartDoNotAgree() throws {
    let seoul = try AgreementPlace(latitude: 37.5665, longitude: 126.978, accuracy: 8)
    // A millionth of a degree of latitude is 11 centimetres.
    for (north, isNear) in [(0.0, true), (0.00089, true), (0.00091, false), (0.1, false), (-0.00091, false)] {
      let other = try AgreementPlace(latitude: 37.5665 + north, longitude: 126.978, accuracy: 8)
      #expect(try code { try seoul.checkNearness(to: other) } == (isNear ? nil : .tooFar), "\(north)")
      #expect(try code { try other.checkNearness(to: seoul) } == (isNear ? nil : .tooFar), "\(north)")
    }
    #expect(
      abs(seoul.distance(to: try AgreementPlace(latitude: 35.1796, longitude: 129.0756, accuracy: 1)) - 325_000) < 2000)
    // Across the date line.
    let west = try AgreementPlace(latitude: 0, longitude: 179.9999, accuracy: 1)
    #expect(west.distance(to: try AgreementPlace(latitude: 0, longitude: -179.9999, accuracy: 1)) < 25)
    let vague = try AgreementPlace(latitude: 37.5665, longitude: 126.978, accuracy: 101)
    #expect(try code { try seoul.checkNearness(to: vague) } == .tooFar)
    for (latitude, longitude, accuracy) in [(91.0, 0.0, 1.0), (0, 181, 1), (0, 0, -1), (.nan, 0, 1), (0, .infinity, 1)]
    {
      #expect(
        try code { _ = try AgreementPlace(latitude: latitude, longitude: longitude, accuracy: accuracy) } == .malformed)
    }
  }

  @Test func whatDiffersFromTheScreenIsNotSigned() throws {
    let (host, joiner) = (try Device(.host), try Device(.joiner))
    let far = try Device(.joiner, place: try AgreementPlace(latitude: 37.5685, longitude: 126.978, accuracy: 8))
    let record = try Agreed.record(host, joiner)
    func check(
      text: String = Agreed.text, place: AgreementPlace? = nil, joiner other: AgreementRecord.Party? = nil,
      end: Date = Agreed.end, now: Date = Agreed.date
    ) throws -> AgreementError.Code? {
      try code {
        try record.check(
          text: text, place: place ?? joiner.place, host: host.party, joiner: other ?? joiner.party, expiresAt: end,
          now: now)
      }
    }
    #expect(try check() == nil)
    #expect(try check(text: Agreed.text + " ") == .differs)
    #expect(try check(joiner: host.party) == .differs)
    #expect(try check(end: Agreed.end + 1) == .differs)
    #expect(try check(now: Agreed.date + 301) == .differs)
    #expect(try check(place: far.place) == .tooFar)
  }

  @Test func aRecordHasOneForm() throws {
    let (host, joiner) = (try Device(.host), try Device(.joiner))
    let record = try Agreed.record(host, joiner)
    let bytes = try record.bytes
    #expect(try AgreementRecord(bytes: bytes) == record)
    let text = String(decoding: bytes, as: UTF8.self)
    for other in [
      text + " ", text.replacing("{", with: "{ "), text.replacing(#""version":1"#, with: #""version":2"#),
      text.replacing(#""time":1790000000"#, with: #""time":1790000000.0"#), "{}", "",
      text.replacing(#""username":"bob""#, with: #""username":"ann""#),
    ] {
      #expect(try code { _ = try AgreementRecord(bytes: Array(other.utf8)) } == .malformed, "\(other)")
    }
    // The same words hash differently each time, so guessing the words reveals nothing.
    #expect(try record.hash != Agreed.record(host, joiner).hash)
    let usual = try AgreementRecord(
      text: "a", time: Agreed.date, place: host.place, host: host.party, joiner: joiner.party)
    #expect(usual.expiresAt == usual.time + 86_400)
    for (text, end) in [("", 10.0), (String(repeating: "a", count: 10_001), 10), ("a", 0), ("a", 367 * 86_400)] {
      #expect(
        try code {
          _ = try AgreementRecord(
            text: text, time: Agreed.date, expiresAt: Agreed.date + end, place: host.place, host: host.party,
            joiner: joiner.party)
        } == .malformed)
    }
  }

  @Test func aCopyOpensForItsKeyAlone() throws {
    let copy = try Agreed.seal().copy
    let key = [UInt8](repeating: 9, count: 32)
    let sealed = try copy.seal(with: key)
    #expect(try AgreementCopy(sealed: sealed, key: key) == copy)
    #expect(Data(sealed).range(of: Data(Agreed.text.utf8)) == nil)
    #expect(try code { _ = try AgreementCopy(sealed: sealed, key: [UInt8](repeating: 8, count: 32)) } == .locked)
    for place in sealed.indices {
      var changed = sealed
      changed[place] ^= 1
      #expect(try code { _ = try AgreementCopy(sealed: changed, key: key) } == .locked)
    }
    #expect(try code { _ = try AgreementCopy(sealed: [], key: key) } == .locked)
  }

  @Test func bothSignTheSameRecord() throws {
    let (sealed, other) = (try Agreed.seal(), try Agreed.seal())
    func check(_ copy: AgreementCopy, _ host: [UInt8], _ joiner: [UInt8]) throws -> AgreementError.Code? {
      try code { try copy.check(hostSignature: host, joinerSignature: joiner) }
    }
    let (copy, host, joiner) = (sealed.copy, sealed.hostSignature, sealed.joinerSignature)
    #expect(try check(copy, host, joiner) == nil)
    #expect(try check(copy, joiner, host) == .forged)
    #expect(try check(copy, other.hostSignature, joiner) == .forged)
    #expect(try check(copy, host, []) == .forged)
    func copied(record: AgreementRecord? = nil, hostKey: Data? = nil, transcript: Data? = nil) throws -> AgreementCopy {
      AgreementCopy(
        record: try (record ?? copy.record).bytes, transcript: Array(transcript ?? copy.transcript),
        hostKey: Array(hostKey ?? copy.hostKey), joinerKey: Array(copy.joinerKey))
    }
    #expect(try check(copied(), host, joiner) == nil)
    #expect(try check(copied(hostKey: other.copy.hostKey), host, joiner) == .forged)
    #expect(try check(copied(transcript: other.copy.transcript), host, joiner) == .forged)
    let swapped = try Agreed.record(sealed.host, sealed.joiner, text: "Something else.")
    #expect(try check(copied(record: swapped), host, joiner) == .forged)
  }

  // MARK: Receipts

  private let server = Curve25519.Signing.PrivateKey()
  private var keys: [String: [UInt8]] { ["k1": Array(server.publicKey.rawRepresentation)] }

  private func receipt(
    of sealed: Agreed.Sealed, head: String = #"{"alg":"EdDSA","kid":"k1","typ":"agreement-receipt+jwt"}"#,
    withdrawnAt: Int? = nil, hostSignature: [UInt8]? = nil, key: Curve25519.Signing.PrivateKey? = nil
  ) throws -> String {
    let withdrawn = withdrawnAt.map { #","withdrawnAt":\#($0)"# } ?? ""
    let (copy, record) = (sealed.copy, try sealed.copy.record)
    let claims = """
      {"agreement":7,"hash":"\(Base64URL.text(try record.hash))","hostKey":"\(Base64URL.text(Array(copy.hostKey)))",\
      "joinerKey":"\(Base64URL.text(Array(copy.joinerKey)))",\
      "hostSignature":"\(Base64URL.text(hostSignature ?? sealed.hostSignature))",\
      "joinerSignature":"\(Base64URL.text(sealed.joinerSignature))","sealedAt":1790000010,\
      "expiresAt":\(record.expiresAt),"iat":1790000020\(withdrawn)}
      """
    let message = Base64URL.text(Array(head.utf8)) + "." + Base64URL.text(Array(claims.utf8))
    return message + "." + Base64URL.text(Array(try (key ?? server).signature(for: Array(message.utf8))))
  }

  @Test func aReceiptIsCheckedWithoutTheServer() throws {
    let sealed = try Agreed.seal()
    let receipt = try AgreementReceipt(try receipt(of: sealed), keys: keys, of: sealed.copy)
    #expect(receipt.id == 7 && receipt.sealedAt == 1_790_000_010 && receipt.withdrawnAt == nil)
    let later = try self.receipt(of: sealed, withdrawnAt: 1_790_000_015)
    let withdrawn = try AgreementReceipt(later, keys: keys, of: sealed.copy)
    #expect(withdrawn.withdrawnAt == 1_790_000_015)
  }

  @Test func aReceiptThatWasChangedIsRefused() throws {
    let sealed = try Agreed.seal()
    let token = try receipt(of: sealed)
    func verdict(_ token: String, _ keys: [String: [UInt8]]? = nil, _ other: AgreementCopy? = nil) throws
      -> AgreementError.Code?
    {
      try code { _ = try AgreementReceipt(token, keys: keys ?? self.keys, of: other ?? sealed.copy) }
    }
    let characters = Array(token)
    for place in stride(from: 0, to: characters.count, by: 3) {
      var changed = characters
      changed[place] = changed[place] == "A" ? "B" : "A"
      let found = try verdict(String(changed))
      #expect(found == .forged || found == .malformed, "\(place)")
    }
    #expect(try verdict(token, [:]) == .forged)
    let stranger = Curve25519.Signing.PrivateKey()
    #expect(try verdict(token, ["k1": Array(stranger.publicKey.rawRepresentation)]) == .forged)
    #expect(try verdict(receipt(of: sealed, key: stranger)) == .forged)
    for head in [
      #"{"alg":"none","kid":"k1","typ":"agreement-receipt+jwt"}"#, #"{"alg":"EdDSA","kid":"k1","typ":"fan+jwt"}"#,
      #"{"alg":"HS256","kid":"k1","typ":"agreement-receipt+jwt"}"#,
      #"{"alg":"EdDSA","crit":["x"],"kid":"k1","typ":"agreement-receipt+jwt"}"#,
    ] {
      #expect(try verdict(receipt(of: sealed, head: head)) == .forged, "\(head)")
    }
    // Of another agreement.
    #expect(try verdict(token, nil, Agreed.seal().copy) == .differs)
    // Signed by the server, and not by the host.
    #expect(try verdict(receipt(of: sealed, hostSignature: sealed.joinerSignature)) == .forged)
  }

  // MARK: Passcodes

  @Test func aPasscodeOpensWithTheServersSecretAlone() throws {
    let lock = try PasscodeLock(passcode: "2580")
    let (keys, secret) = (Array("the keys".utf8), [UInt8](repeating: 3, count: 32))
    let locked = try lock.lock(keys, with: secret)
    #expect(try PasscodeLock(passcode: "2580", salt: lock.salt).open(locked, with: secret) == keys)
    #expect(try PasscodeLock(passcode: "2580", salt: lock.salt).proof == lock.proof)
    #expect(try PasscodeLock(passcode: "2580").proof != lock.proof)
    for (passcode, secret) in [("2581", secret), ("2580", [UInt8](repeating: 4, count: 32))] {
      let other = try PasscodeLock(passcode: passcode, salt: lock.salt)
      #expect(try code { _ = try other.open(locked, with: secret) } == .locked)
    }
    #expect(try code { _ = try lock.open(Array(locked.dropLast()), with: secret) } == .locked)
    #expect(try code { _ = try PasscodeLock(passcode: "123") } == .malformed)
    #expect(!"\(lock)".contains("2580"))
  }
}
