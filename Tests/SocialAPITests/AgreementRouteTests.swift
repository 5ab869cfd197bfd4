import Agreements
import Cryptography
import Foundation
import LibPQClient
import LocalStack
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(5))) struct AgreementRouteTests {
  private let hostKey = [UInt8](repeating: 1, count: 32)
  private let joinerKey = [UInt8](repeating: 2, count: 32)

  @Test func twoMeetTalkAndSeal() async throws {
    try await API.run { api in
      var (ann, bob) = try await Phone.meet(api)
      let cyd = try await api.openAdult("cyd")
      // Sealed messages in both directions.
      let record = try ann.record(with: bob)
      for (number, message) in [AgreementMessage.place(record.place), .record(record)].enumerated() {
        let body = ["body": Base64URL.text(try ann.meeting.seal(message))]
        for _ in 1...2 { #expect(try await ann.say("PUT", "/messages/\(number + 1)", body).status == 204) }
      }
      let came = try await bob.say("GET", "/messages?after=0").items
      #expect(came.map { $0["number"] as? Int } == [1, 2])
      var heard: [AgreementMessage] = []
      for item in came {
        heard.append(try bob.meeting.open(sealed: try Phone.bytes(item["body"])))
      }
      #expect(heard == [.place(record.place), .record(record)])
      #expect(try await bob.say("GET", "/messages?after=1").items.count == 1)
      #expect(try await ann.say("GET", "/messages").items.isEmpty)

      let first = try await ann.say("PUT", "/seal", try ann.seal(record, key: hostKey))
      #expect(first.json["state"] as? String == "joined" && first.json["sealed"] as? Bool == true)
      for phone in [ann, bob] { #expect(try await phone.send("GET", "").items.isEmpty) }
      let second = try await bob.say("PUT", "/seal", try bob.seal(record, key: joinerKey))
      #expect(second.json["state"] as? String == "sealed")

      for (phone, key, role) in [(ann, hostKey, "host"), (bob, joinerKey, "joiner")] {
        let (kept, receipt) = try await phone.sealed(key)
        #expect(kept == record && receipt.id == phone.id && receipt.withdrawnAt == nil)
        let item = try #require(try await phone.send("GET", "").items.first)
        #expect(item["role"] as? String == role && item["withdrawnAt"] is NSNull)
        let peer = item["peer"] as? [String: Any]
        #expect(peer?["username"] as? String == (role == "host" ? "bob" : "ann"))
      }
      // The messages of the meeting are deleted.
      #expect(try await api.count("SELECT count(*) FROM agreement_messages") == 0)
      #expect(try await api.count("SELECT count(*) FROM agreement_seals") == 0)

      // No third account has access to any of it.
      for (method, path) in [
        ("GET", "/meetings/\(ann.id)"), ("DELETE", "/meetings/\(ann.id)"), ("GET", "/meetings/\(ann.id)/messages"),
        ("GET", "/\(ann.id)"), ("DELETE", "/\(ann.id)"), ("POST", "/\(ann.id)/withdrawal"),
      ] {
        #expect(try await api.send(method, "/v1/agreements" + path, as: cyd).status == 404, "\(method) \(path)")
        #expect(try await api.send(method, "/v1/agreements" + path).status == 401, "\(method) \(path)")
      }
      for (path, body) in [
        ("/opening", ["nonce": Base64URL.text([UInt8](repeating: 0, count: 32))]),
        ("/messages/1", ["body": Base64URL.text([UInt8](repeating: 0, count: 32))]),
        ("/seal", try bob.seal(record, key: joinerKey)),
      ] as [(String, [String: Any])] {
        let text = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
        let reply = try await api.send("PUT", "/v1/agreements/meetings/\(ann.id)\(path)", as: cyd, text)
        #expect(reply.status == 404, "\(path)")
      }
      #expect(try await api.send("GET", "/v1/agreements", as: cyd).items.isEmpty)
    }
  }

  private func sealed(_ api: API) async throws -> (Phone, Phone) {
    let (ann, bob) = try await Phone.meet(api)
    let record = try ann.record(with: bob)
    for (phone, key) in [(ann, hostKey), (bob, joinerKey)] {
      let reply = try await phone.say("PUT", "/seal", try phone.seal(record, key: key))
      try #require(reply.status == 200, "\(reply.status) \(reply.json)")
    }
    return (ann, bob)
  }

  @Test func aWithdrawalIsToldAtOnceAndStandsOnEveryReceipt() async throws {
    try await API.run { api in
      let (ann, bob) = try await sealed(api)
      let stream = try await EventSource(port: api.http.port, token: bob.token)
      let withdrawn = try await ann.send("POST", "/\(ann.id)/withdrawal")
      #expect(withdrawn.status == 200)
      let event = try #require(await stream.next())
      let fields = try event.fields()
      #expect(event.name == "agreement" && fields["state"] as? String == "withdrawn")
      #expect(fields["id"] as? Int == ann.id)
      // The first withdrawal is kept.
      let again = try await bob.send("POST", "/\(ann.id)/withdrawal")
      #expect(again.json["withdrawnAt"] as? String == withdrawn.json["withdrawnAt"] as? String)
      for (phone, key, by) in [(ann, hostKey, "me"), (bob, joinerKey, "peer")] {
        let receipt = try await phone.sealed(key).receipt
        #expect(receipt.withdrawnAt != nil)
        let answer = try await api.exchange("GET", "/v1/agreements/\(ann.id)", as: phone.token)
        #expect(String(decoding: answer.body, as: UTF8.self).hasPrefix(#"{"withdrawnAt":"2"#))
        #expect(try await phone.send("GET", "/\(ann.id)").json["withdrawnBy"] as? String == by)
      }
    }
  }

  @Test func oneRemovesOnesOwnCopyAlone() async throws {
    try await API.run { api in
      let (ann, bob) = try await sealed(api)
      #expect(try await ann.send("DELETE", "/\(ann.id)").status == 204)
      #expect(try await ann.send("DELETE", "/\(ann.id)").status == 404)
      #expect(try await ann.send("GET", "/\(ann.id)").status == 404)
      #expect(try await ann.send("GET", "").items.isEmpty)
      #expect(try await bob.sealed(joinerKey).record.text == Phone.text)
      // An account that removed its copy can still withdraw.
      #expect(try await ann.send("POST", "/\(ann.id)/withdrawal").status == 200)
      #expect(try await bob.sealed(joinerKey).receipt.withdrawnAt != nil)
      #expect(try await bob.send("DELETE", "/\(ann.id)").status == 204)
      #expect(try await api.count("SELECT count(*) FROM agreements") == 0)
      #expect(try await bob.send("POST", "/\(ann.id)/withdrawal").status == 404)
    }
  }

  @Test func aDeletedAccountLeavesTheOthersCopy() async throws {
    try await API.run { api in
      let (ann, bob) = try await sealed(api)
      var another = try await Phone.make("dan", .host, api)
      _ = try await another.begin()
      #expect(try await ann.send("PUT", "/backup", Self.backup("2580").body).status == 204)
      #expect(try await api.send("DELETE", "/v1/me", as: ann.token, #"{"password":"a password"}"#).status == 204)
      try await api.drain(SocialJobs.bulkQueue)
      let kept = try await bob.sealed(joinerKey)
      #expect(kept.record.text == Phone.text)
      #expect(try await bob.send("GET", "/\(ann.id)").json["peer"] is NSNull)
      #expect(try await LeftoverAudit.run(on: api.pool).isClean)
      #expect(try await api.count("SELECT count(*) FROM agreement_copies") == 1)
      #expect(try await api.count("SELECT count(*) FROM agreement_backups") == 0)
      #expect(try await bob.send("POST", "/\(bob.id)/withdrawal").status == 200)
    }
  }

  @Test func aSealIsCheckedBeforeItIsTaken() async throws {
    try await API.run { api in
      let (ann, bob) = try await Phone.meet(api)
      let record = try ann.record(with: bob)
      let other = try ann.record(with: bob, text: "Something else.")
      var forged = try bob.seal(record, key: joinerKey)
      forged["hash"] = Base64URL.text(try other.hash)
      #expect(try await bob.say("PUT", "/seal", forged).code == "forged_seal")
      // The host's seal is not the joiner's.
      #expect(try await bob.say("PUT", "/seal", try ann.seal(record, key: hostKey)).code == "forged_seal")
      #expect(try await ann.say("PUT", "/seal", try ann.seal(other, key: hostKey)).status == 200)
      #expect(try await bob.say("PUT", "/seal", try bob.seal(record, key: joinerKey)).code == "seals_differ")
      var late = try bob.seal(other, key: joinerKey)
      late["expiresAt"] = other.expiresAt + 1
      #expect(try await bob.say("PUT", "/seal", late).code == "seals_differ")
      #expect(try await api.count("SELECT count(*) FROM agreements") == 0)
      // Until both have sealed, the first can seal again.
      #expect(try await ann.say("PUT", "/seal", try ann.seal(record, key: hostKey)).status == 200)
      let seal = try bob.seal(record, key: joinerKey)
      for _ in 1...2 { #expect(try await bob.say("PUT", "/seal", seal).json["state"] as? String == "sealed") }
      #expect(try await ann.say("PUT", "/seal", try ann.seal(other, key: hostKey)).code == "meeting_ended")
      #expect(try await ann.say("DELETE").status == 204)
      #expect(try await ann.sealed(hostKey).record == record)
    }
  }

  @Test func everyStepRefusesWhatItCannotTake() async throws {
    try await API.run { api in
      var ann = try await Phone.make("ann", .host, api)
      var bob = try await Phone.make("bob", .joiner, api)
      let code = try await ann.begin()
      #expect(code.count == 6 && code.allSatisfy(\.isNumber))
      let counted: PostgresQuery = "SELECT coalesce(sum(attempts), 0)::bigint FROM sign_in_attempts"
      let before = try await api.count(counted)
      #expect(try await ann.join("Ann", code).code == "cannot_meet_yourself")
      // It is no attempt.
      #expect(try await api.count(counted) == before)
      let nonce = Base64URL.text([UInt8](repeating: 0, count: 32))
      #expect(try await ann.say("PUT", "/opening", ["nonce": nonce]).code == "meeting_ended")
      for (field, value) in [("publicKey", "AAAA"), ("publicKey", "+"), ("commitment", nonce + "=")] {
        let reply = try await bob.send("POST", "/meetings", bob.introduction.merging([field: value]) { $1 })
        #expect((reply.status, reply.code) == (422, "invalid_\(field)"))
      }
      let joined = try await bob.join("ann", code)
      bob.id = try #require(joined.json["id"] as? Int)
      #expect(joined.json["role"] as? String == "joiner" && joined.json["state"] as? String == "joined")
      // The reply was lost: the same device asks again. Another device of the same owner is a third device.
      #expect(try await bob.join("ann", code).json["id"] as? Int == bob.id)
      let tablet = Phone(api: api, name: "bob", token: bob.token, meeting: AgreementMeeting(as: .joiner))
      #expect(try await tablet.join("ann", code).code == "wrong_code")
      #expect(try await bob.say("PUT", "/opening", ["nonce": nonce]).code == "invalid_nonce")
      let message = ["body": Base64URL.text([UInt8](repeating: 7, count: 40))]
      #expect(try await bob.say("PUT", "/messages/1", message).code == "meeting_not_opened")
      try await ann.give()
      try await bob.give()
      _ = (try await ann.take(), try await bob.take())
      #expect(try await bob.say("PUT", "/messages/2", message).code == "invalid_number")
      #expect(try await bob.say("PUT", "/messages/0", message).code == "invalid_number")
      #expect(try await bob.say("PUT", "/messages/1", message).status == 204)
      let another = ["body": Base64URL.text([UInt8](repeating: 8, count: 40))]
      #expect(try await bob.say("PUT", "/messages/1", another).code == "message_differs")
      let long = ["body": Base64URL.text([UInt8](repeating: 8, count: 98_305))]
      #expect(try await bob.say("PUT", "/messages/2", long).code == "invalid_body")
      for number in 2...8 { #expect(try await bob.say("PUT", "/messages/\(number)", message).status == 204) }
      #expect(try await bob.say("PUT", "/messages/9", message).code == "invalid_number")
      #expect(try await bob.say("GET", "/messages?after=x").code == "invalid_after")
      let record = try ann.record(with: bob)
      for (field, value) in [("expiresAt", 1), ("expiresAt", Int(Date().timeIntervalSince1970) + 367 * 86_400)] {
        let seal = try ann.seal(record, key: hostKey).merging([field: value]) { $1 }
        #expect(try await ann.say("PUT", "/seal", seal).code == "invalid_expiresAt")
      }
      // Either side can leave, which ends the meeting.
      #expect(try await bob.say("DELETE").status == 204)
      let left = try await ann.say("GET").json
      #expect(left["state"] as? String == "ended" && left["ending"] as? String == "left")
      #expect(try await ann.say("PUT", "/seal", try ann.seal(record, key: hostKey)).code == "meeting_ended")
      // A new meeting ends the previous one.
      var again = ann
      _ = try await again.begin()
      let first = again.id
      _ = try await again.begin()
      again.id = first
      #expect(try await again.say("GET").json["ending"] as? String == "replaced")
    }
  }

  @Test func aMeetingExpires() async throws {
    try await API.run { api in
      var ann = try await Phone.make("ann", .host, api)
      let bob = try await Phone.make("bob", .joiner, api)
      let code = try await ann.begin()
      let left = try await api.count(
        "SELECT extract(epoch FROM expires_at - now())::bigint FROM agreement_meetings WHERE id = \(ann.id)")
      #expect((110...120).contains(left))
      try await api.pool.execute("UPDATE agreement_meetings SET expires_at = now()")
      #expect(try await bob.join("ann", code).code == "wrong_code")
      #expect(try await ann.say("GET").json["ending"] as? String == "expired")
      let (cyd, dan) = try await Phone.meet(api, "cyd", "dan")
      let record = try cyd.record(with: dan)
      #expect(try await cyd.say("PUT", "/seal", try cyd.seal(record, key: hostKey)).status == 200)
      try await api.pool.execute("UPDATE agreement_meetings SET expires_at = now()")
      #expect(try await dan.say("PUT", "/seal", try dan.seal(record, key: joinerKey)).code == "meeting_ended")
      // The messages are deleted soon, and the rest after a day.
      _ = try await api.pool.transaction { try await Meetings.sweep(upTo: 100, in: $0) }
      #expect(try await api.count("SELECT count(*) FROM agreement_seals") == 0)
      #expect(try await api.count("SELECT count(*) FROM agreement_meetings") == 2)
      try await api.pool.execute("UPDATE agreement_meetings SET expires_at = now() - interval '25 hours'")
      let gone = try await api.pool.transaction { try await Meetings.sweep(upTo: 100, in: $0) }
      #expect(gone == 2)
    }
  }

  // MARK: Who may

  @Test func blockedPeopleDoNotMeet() async throws {
    try await API.run { api in
      var ann = try await Phone.make("ann", .host, api)
      let bob = try await Phone.make("bob", .joiner, api)
      for (one, other) in [(ann, "bob"), (bob, "ann")] {
        let code = try await ann.begin()
        #expect(try await api.send("PUT", "/v1/users/\(other)/block", as: one.token).status == 204)
        // The reply is the same as without a meeting.
        let refused = try await bob.join("ann", code)
        #expect((refused.status, refused.code) == (404, "wrong_code"))
        #expect(try await api.send("DELETE", "/v1/users/\(other)/block", as: one.token).status == 204)
      }
      // Nor do existing meetings continue.
      let (cyd, dan) = try await Phone.meet(api, "cyd", "dan")
      let record = try cyd.record(with: dan)
      let message = ["body": Base64URL.text([UInt8](repeating: 7, count: 40))]
      #expect(try await cyd.say("PUT", "/messages/1", message).status == 204)
      #expect(try await dan.say("GET", "/messages").items.count == 1)
      #expect(try await api.send("PUT", "/v1/users/dan/block", as: cyd.token).status == 204)
      #expect(try await dan.say("PUT", "/seal", try dan.seal(record, key: joinerKey)).code == "meeting_ended")
      #expect(try await dan.say("GET").json["peer"] is NSNull)
      #expect(try await dan.say("GET", "/messages").items.isEmpty)
    }
  }

  @Test func adultsAlone() async throws {
    try await API.run { api in
      let kid = try await api.open("kid")
      #expect(try await api.send("GET", "/v1/me", as: kid).json["adult"] as? Bool == false)
      let phone = Phone(api: api, name: "kid", token: kid, meeting: AgreementMeeting(as: .host))
      let counted: PostgresQuery = "SELECT coalesce(sum(attempts), 0)::bigint FROM sign_in_attempts"
      let before = try await api.count(counted)
      let refused = try await phone.send("POST", "/meetings", phone.introduction)
      #expect((refused.status, refused.code) == (403, "adult_statement_needed"))
      #expect(try await phone.join("ann", "000000").code == "adult_statement_needed")
      // Neither is an attempt.
      #expect(try await api.count(counted) == before)
      let stated = try await api.send("PATCH", "/v1/me", as: kid, #"{"adult":true}"#)
      #expect(stated.json["adult"] as? Bool == true)
      #expect(try await phone.send("POST", "/meetings", phone.introduction).status == 201)
      #expect(try await api.send("PATCH", "/v1/me", as: kid, #"{"name":"Kid"}"#).json["adult"] as? Bool == true)
      #expect(try await api.send("PATCH", "/v1/me", as: kid, #"{"adult":false}"#).json["adult"] as? Bool == false)
      #expect(try await api.send("GET", "/v1/users/kid", as: kid).json["adult"] == nil)
    }
    try await API.run(asksAdults: true) { api in
      let refused = try await api.send("POST", "/v1/accounts", API.registration("kid"))
      #expect((refused.status, refused.code) == (422, "invalid_adult"))
      let ann = try await api.openAdult("ann")
      #expect(try await api.send("GET", "/v1/me", as: ann).json["adult"] as? Bool == true)
    }
  }

  @Test func allOfItCanBeOff() async throws {
    try await API.run(agreements: nil) { api in
      let phone = try await Phone.make("ann", .host, api)
      for (method, path) in [
        ("POST", "/meetings"), ("POST", "/meetings/join"), ("GET", "/meetings/1"), ("DELETE", "/meetings/1"),
        ("PUT", "/meetings/1/opening"), ("GET", "/meetings/1/messages"), ("PUT", "/meetings/1/messages/1"),
        ("PUT", "/meetings/1/seal"), ("GET", ""), ("GET", "/1"), ("DELETE", "/1"), ("POST", "/1/withdrawal"),
        ("GET", "/templates"), ("GET", "/backup"), ("PUT", "/backup"), ("DELETE", "/backup"), ("POST", "/backup/open"),
      ] {
        let reply = try await phone.send(method, path, [:])
        #expect((reply.status, reply.code) == (503, "agreements_off"), "\(method) \(path)")
      }
    }
  }

  @Test func anAgreementCanBeReported() async throws {
    try await API.run { api in
      let (ann, bob) = try await Phone.meet(api)
      let cyd = try await api.open("cyd")
      let report = #"{"agreement":\#(ann.id),"reason":"harassment","text":"not what we said"}"#
      #expect(try await api.send("POST", "/v1/reports", as: bob.token, report).status == 201)
      #expect(try await api.send("POST", "/v1/reports", as: cyd, report).status == 404)
      let account = try await api.count(
        "SELECT account_id FROM reports r JOIN accounts a ON a.id = r.account_id WHERE a.username = 'ann'")
      #expect(account > 0)
    }
  }

  @Test func templatesAreEvenHanded() async throws {
    try await API.run { api in
      let ann = try await Phone.make("ann", .host, api)
      for (language, withdraw, proof) in [
        ("en", "withdraw at any moment", "proves no consent"), ("ko", "언제든지", "동의를 증명하지 않습니다"),
      ] {
        let items = try await ann.send("GET", "/templates?language=\(language)").items
        #expect(items.count == 3)
        for item in items {
          let text = try #require(item["text"] as? String)
          #expect(text.contains(withdraw) && text.contains(proof), "\(text)")
          #expect(text.unicodeScalars.count <= 10_000)
        }
      }
      #expect(try await ann.send("GET", "/templates?language=de").code == "invalid_language")
    }
  }

  // MARK: Backups

  private static func backup(
    _ passcode: String, salt: [UInt8]? = nil
  ) throws -> (lock: PasscodeLock, body: [String: Any]) {
    let lock = try PasscodeLock(passcode: passcode, salt: salt)
    let secret = [UInt8].random(count: 32)
    let locked = try lock.lock(Array("the keys".utf8), with: secret)
    return (
      lock,
      [
        "salt": Base64URL.text(lock.salt), "proof": Base64URL.text(lock.proof), "secret": Base64URL.text(secret),
        "locked": Base64URL.text(locked),
      ]
    )
  }

  private static func proof(_ number: Int) -> [String: Any] {
    ["proof": Base64URL.text([UInt8](repeating: UInt8(clamping: number), count: 32))]
  }

  @Test func aPasscodeOpensABackup() async throws {
    try await API.run { api in
      let (ann, bob) = (try await Phone.make("ann", .host, api), try await Phone.make("bob", .joiner, api))
      #expect(try await ann.send("GET", "/backup").status == 404)
      let (lock, body) = try Self.backup("2580")
      #expect(try await ann.send("PUT", "/backup", body).status == 204)
      let known = try await ann.send("GET", "/backup").json
      #expect(known["triesLeft"] as? Int == 10 && known["salt"] as? String == Base64URL.text(lock.salt))
      #expect(known["secret"] == nil && known["locked"] == nil)
      for number in 1...9 {
        let reply = try await ann.send("POST", "/backup/open", Self.proof(number))
        #expect((reply.status, reply.code) == (403, "wrong_passcode"))
      }
      #expect(try await ann.send("GET", "/backup").json["triesLeft"] as? Int == 1)
      let opened = try await ann.send("POST", "/backup/open", ["proof": Base64URL.text(lock.proof)]).json
      let again = try PasscodeLock(passcode: "2580", salt: lock.salt)
      let (locked, secret) = (
        try Phone.bytes(opened["locked"]), try Phone.bytes(opened["secret"])
      )
      #expect(try again.open(locked, with: secret) == Array("the keys".utf8))
      #expect(try await ann.send("GET", "/backup").json["triesLeft"] as? Int == 10)
      // No other account can use it.
      #expect(try await bob.send("GET", "/backup").status == 404)
      #expect(try await bob.send("POST", "/backup/open", ["proof": Base64URL.text(lock.proof)]).status == 404)
      #expect(try await bob.send("DELETE", "/backup").status == 404)
      // The database alone contains neither the secret nor the proof of a passcode.
      let (hidden, verifier) = try await api.pool.query("SELECT secret, verifier FROM agreement_backups")[0]
        .decode([UInt8].self, [UInt8].self)
      #expect(Data(hidden).range(of: Data(secret)) == nil && verifier != lock.proof)
      #expect(verifier != SHA256.hash(of: lock.proof))
      let other = AgreementBackups(secrets: AgreementSecrets(secret: "another key of the tests, of 32 or more"))
      let account = try await api.count("SELECT account_id FROM agreement_backups")
      let error = await #expect(throws: SocialError.self) {
        _ = try await other.open(proof: lock.proof, of: account, in: api.pool)
      }
      // Its verifier was made with another key too, which cannot be told from a wrong passcode.
      #expect(error?.code == .wrongPasscode)
      #expect(try await ann.send("DELETE", "/backup").status == 204)
      #expect(try await api.count("SELECT count(*) FROM agreement_backups") == 0)
      for (field, value) in [("salt", "AA"), ("proof", "AA"), ("secret", ""), ("locked", "!")] {
        let reply = try await ann.send("PUT", "/backup", body.merging([field: value]) { $1 })
        #expect((reply.status, reply.code) == (422, "invalid_\(field)"))
      }
    }
  }

  @Test func racingTriesAreCountedEach() async throws {
    try await API.run { api in
      let ann = try await Phone.make("ann", .host, api)
      let (lock, body) = try Self.backup("2580")
      #expect(try await ann.send("PUT", "/backup", body).status == 204)
      let codes = try await withThrowingTaskGroup(of: String.self) { group in
        for number in 1...60 {
          group.addTask { try await ann.send("POST", "/backup/open", Self.proof(number)).code ?? "open" }
        }
        return try await group.reduce(into: [:]) { counts, code in counts[code, default: 0] += 1 }
      }
      #expect(codes == ["wrong_passcode": 9, "backup_destroyed": 1, "not_found": 50])
      // The right passcode is too late.
      #expect(try await ann.send("POST", "/backup/open", ["proof": Base64URL.text(lock.proof)]).status == 404)
      #expect(try await api.count("SELECT count(*) FROM agreement_backups") == 0)
    }
  }

  @Test func aTryThatWasCountedAndNotLookedAtCounts() async throws {
    try await API.run { api in
      let ann = try await Phone.make("ann", .host, api)
      let (lock, body) = try Self.backup("2580")
      #expect(try await ann.send("PUT", "/backup", body).status == 204)
      // The process ended between the two, ten times.
      try await api.pool.execute("UPDATE agreement_backups SET wrong_tries = 10")
      #expect(try await ann.send("GET", "/backup").status == 404)
      #expect(try await ann.send("POST", "/backup/open", ["proof": Base64URL.text(lock.proof)]).status == 404)
      #expect(try await api.count("SELECT count(*) FROM agreement_backups") == 0)
    }
  }
}
