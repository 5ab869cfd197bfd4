import Agreements
import Cryptography
import Foundation
import HiredisClient
@_spi(Testing) import LibPQClient
import LocalStack
import Locking
import Logging
import PrivateServers
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(10))) struct MeetingGuessTests {
  private let secrets = AgreementSecrets(secret: "a key of the tests, 32 characters or more")

  private func meetings(_ api: API) -> Meetings {
    Meetings(secrets: secrets, attempts: AttemptBook(pool: api.pool, memory: .zero))
  }

  /// - Returns: the accounts' ids.
  private func adults(_ count: Int, _ api: API) async throws -> [Int] {
    try await api.pool.query(
      """
      INSERT INTO accounts (username, email, password_hash, name, adult_since)
      SELECT 'a' || n, 'a' || n || '@example.org', '', 'a' || n, now() FROM generate_series(1, \(count)) n RETURNING id
      """
    ).decode(Int.self)
  }

  private func introduction(_ role: AgreementRole) throws -> MeetingIntroduction {
    let (key, commitment) = AgreementKeys().introduction(as: role)
    return try MeetingIntroduction(key: Base64URL.text(key), commitment: Base64URL.text(commitment))
  }

  @Test func noThirdDeviceIsAdmitted() async throws {
    try await API.run { api in
      let accounts = try await adults(1000, api)
      let meetings = meetings(api)
      for (number, host) in accounts.enumerated() {
        let (meeting, code) = try await api.pool.transaction {
          try await meetings.begin(try introduction(.host), by: host, in: $0)
        }
        let outcomes = try await withThrowingTaskGroup(of: Int?.self) { group in
          for racer in 1...3 {
            let joiner = accounts[(number + racer * 7) % accounts.count]
            group.addTask {
              do {
                let joined = try await meetings.join(
                  "a\(number + 1)", code: code, try introduction(.joiner), by: joiner, in: api.pool)
                #expect(joined.id == meeting.id)
                return joiner
              } catch let error as SocialError {
                #expect(error.code == .wrongCode)
                return nil
              }
            }
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        let admitted = outcomes.compactMap(\.self)
        #expect(admitted.count == 1)
        for racer in 1...3 {
          let joiner = accounts[(number + racer * 7) % accounts.count]
          let sees = try await api.count(
            "SELECT count(*) FROM agreement_meetings WHERE id = \(meeting.id) AND joiner_id = \(joiner)")
          #expect(sees == (admitted.contains(joiner) ? 1 : 0))
        }
      }
    }
  }

  @Test func tenThousandGuessesEndAtTheFifth() async throws {
    try await API.run { api in
      var ann = try await Phone.make("ann", .host, api)
      let code = try await ann.begin()
      let stream = try await EventSource(port: api.http.port, token: ann.token)
      let accounts = try await adults(1000, api)
      let meetings = meetings(api)
      let refusals = try await withThrowingTaskGroup(of: [SocialError.Code: Int].self) { group in
        for actor in 0..<8 {
          group.addTask {
            var counts: [SocialError.Code: Int] = [:]
            for number in stride(from: actor, to: 10_000, by: 8) {
              // Every code but the right one.
              let guess = String(repeating: "0", count: 6 - "\(number)".count) + "\(number)"
              if guess == code { continue }
              do {
                _ = try await meetings.join(
                  "ann", code: guess, try introduction(.joiner), by: accounts[number % 1000], in: api.pool)
                Issue.record("\(guess) was let in")
              } catch let error as SocialError {
                counts[error.code, default: 0] += 1
              }
            }
            return counts
          }
        }
        return try await group.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
      }
      #expect(refusals[.wrongCode, default: 0] >= 9999 && refusals.count == 1)
      let event = try #require(await stream.next())
      let fields = try event.fields()
      #expect(event.name == "agreement" && fields["state"] as? String == "ended")
      #expect(try await ann.say("GET").json["ending"] as? String == "guessed")
      #expect(try await api.count("SELECT wrong_codes::bigint FROM agreement_meetings WHERE id = \(ann.id)") == 5)
      // The right one is too late, and an account's eleventh guess is not checked.
      let bob = try await Phone.make("bob", .joiner, api)
      #expect(try await bob.join("ann", code).code == "wrong_code")
      var again = try await Phone.make("cyd", .host, api)
      let right = try await again.begin()
      let error = await #expect(throws: SocialError.self) {
        _ = try await meetings.join("cyd", code: right, try introduction(.joiner), by: accounts[0], in: api.pool)
      }
      #expect(error?.code == .tooManyAttempts)
    }
  }

  /// The server process of a seal dies before each of its statements in turn.
  @Test func aKilledSealLeavesBothOrNeither() async throws {
    try await API.run { api in
      try await api.pool.transaction {
        try await $0.executeScript(
          """
          CREATE SEQUENCE steps;
          CREATE FUNCTION die_at(step bigint) RETURNS void LANGUAGE plpgsql AS $$
          BEGIN
            IF nextval('steps') = step THEN
              PERFORM pg_terminate_backend(pg_backend_pid());
            END IF;
          END $$;
          """)
      }
      let (ann, bob) = try await Phone.meet(api)
      let record = try ann.record(with: bob)
      let key = [UInt8](repeating: 1, count: 32)
      func seal(_ phone: Phone) throws -> MeetingSeal {
        let form = try phone.seal(record, key: key)
        return try MeetingSeal(
          hash: try #require(form["hash"] as? String), signature: try #require(form["signature"] as? String),
          copy: try #require(form["copy"] as? String), expiresAt: record.expiresAt, now: Date())
      }
      let bobsID = try await api.count("SELECT id FROM accounts WHERE username = 'bob'")
      #expect(try await ann.say("PUT", "/seal", try ann.seal(record, key: key)).status == 200)
      let bobs = try seal(bob)
      var deaths = 0
      while true {
        try await api.pool.execute("ALTER SEQUENCE steps RESTART")
        let pause = StatementPause(query: "SELECT die_at(\(deaths + 1))")
        do {
          try await StatementPause.$current.withValue(pause) {
            _ = try await api.pool.transaction { try await MeetingExchange.seal(bobs, bob.id, of: bobsID, in: $0) }
          }
          break
        } catch is PostgresError {
          deaths += 1
        }
        // Neither is stored, and the peer's seal waits.
        #expect(try await api.count("SELECT count(*) FROM agreements") == 0)
        #expect(try await api.count("SELECT count(*) FROM agreement_copies") == 0)
        #expect(try await api.count("SELECT count(*) FROM agreement_seals") == 1)
        try #require(deaths < 50)
      }
      #expect(deaths >= 10)
      // Both are stored. The device that got no reply asks again, and gets it.
      #expect(try await api.count("SELECT count(*) FROM agreement_copies") == 2)
      let again = try await api.pool.transaction { try await MeetingExchange.seal(bobs, bob.id, of: bobsID, in: $0) }
      #expect(again)
      for phone in [ann, bob] { #expect(try await phone.sealed(key).record == record) }
    }
  }

  // MARK: What the server knows

  /// Searches everything that the servers store for the agreed words, in every form that they could have.
  @Test func nothingThatIsSaidIsKeptAnywhere() async throws {
    var options = PrivatePostgres.Options.tests
    options.settings["log_statement"] = "all"
    options.settings["wal_compression"] = "off"
    let postgres = try await PrivatePostgres.start(options: options)
    let redis = try await PrivateRedis.start()
    let log = Locked<[String]>([])
    let recorder = Logger(label: "all") { _ in LogRecorder(log) }
    try await API.run(postgres: postgres, redis: redis, logger: recorder) { api in
      var (ann, bob) = try await Phone.meet(api)
      // A meeting that has not been joined: its Idempotency-Key stores no reply with the code.
      let cyd = try await Phone.make("cyd", .host, api)
      let introduction = String(decoding: try JSONSerialization.data(withJSONObject: cyd.introduction), as: UTF8.self)
      let begun = try await api.send("POST", "/v1/agreements/meetings", as: cyd.token, key: "a-key", introduction)
      let code = try #require(begun.json["code"] as? String)
      let secrets = ["the heron painting", "Ann's violet device", "Bob's copper device", "37654321", "127012345"]
      let record = try AgreementRecord(
        text: "We agree on \(secrets[0]).", time: Date(),
        place: AgreementPlace(latitude: 37.654321, longitude: 127.012345, accuracy: 8),
        host: AgreementRecord.Party(username: "ann", device: secrets[1]),
        joiner: AgreementRecord.Party(username: "bob", device: secrets[2]))
      let body = ["body": Base64URL.text(try ann.meeting.seal(.place(record.place)))]
      #expect(try await ann.say("PUT", "/messages/1", body).status == 204)
      let next = ["body": Base64URL.text(try ann.meeting.seal(.record(record)))]
      #expect(try await ann.say("PUT", "/messages/2", next).status == 204)
      let key = [UInt8](repeating: 1, count: 32)
      let lock = try PasscodeLock(passcode: "73914682")
      let secret = [UInt8].random(count: 32)
      let backup = [
        "salt": Base64URL.text(lock.salt), "proof": Base64URL.text(lock.proof), "secret": Base64URL.text(secret),
        "locked": Base64URL.text(try lock.lock(Array("keys of the heron".utf8), with: secret)),
      ]
      #expect(try await ann.send("PUT", "/backup", backup).status == 204)
      let opening = ["proof": Base64URL.text(lock.proof)]
      let opened = try await api.send(
        "POST", "/v1/agreements/backup/open", as: ann.token, key: "a-key",
        String(decoding: try JSONSerialization.data(withJSONObject: opening), as: UTF8.self))
      #expect(opened.status == 200)
      for phone in [ann, bob] {
        #expect(try await phone.say("PUT", "/seal", try phone.seal(record, key: key)).status == 200)
      }
      #expect(try await bob.sealed(key).record == record)
      #expect(try await bob.send("POST", "/\(bob.id)/withdrawal").status == 200)
      // Text that must be found, in a post, in Redis, in a dead letter, in a log.
      let control = "the planted kingfisher"
      _ = try await api.post(control, as: ann.token)
      _ = try await api.redis.send(RedisCommand("SET", "control", control))
      recorder.info("\(control)")
      try await api.pool.execute("CHECKPOINT")
      _ = try await api.redis.send(RedisCommand("SAVE"))

      let kept = [
        "Postgres": try Self.bytes(under: URL(filePath: postgres.log).deletingLastPathComponent()),
        "Redis": try Self.bytes(under: URL(filePath: redis.log).deletingLastPathComponent()),
        "log": Data(log.withLock { $0.joined(separator: "\n") }.utf8),
      ]
      for (place, bytes) in kept {
        #expect(Self.hits(control, in: bytes) > 0, "the control is not found in \(place)")
        for text in secrets + [#""code":"\#(code)""#, "heron", "73914682", "keys of the heron"] {
          #expect(Self.hits(text, in: bytes) == 0, "\(text) is in \(place)")
        }
        // The secret of a backup is not text.
        for bytes2 in [secret, lock.proof] {
          let forms = [
            Data(bytes2), Data(bytes2.hexadecimal.utf8), Data(Base64URL.text(bytes2).utf8),
            Data(Data(bytes2).base64EncodedString().utf8),
          ]
          #expect(forms.allSatisfy { bytes.range(of: $0) == nil }, "a secret is in \(place)")
        }
      }
    }
  }

  /// The contents of all files, concatenated.
  private static func bytes(under folder: URL) throws -> Data {
    var all = Data()
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
    while let file = files?.nextObject() as? URL {
      guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
      all.append(try Data(contentsOf: file))
    }
    return all
  }

  private static func hits(_ text: String, in bytes: Data) -> Int {
    let plain = Array(text.utf8)
    var forms: Set<Data> = [
      Data(plain), Data(plain.hexadecimal.utf8), Data(plain.flatMap { [$0, 0] }),
      Data(text.replacing(" ", with: "%20").utf8), Data(text.replacing("'", with: "\\u0027").utf8),
    ]
    // In Base64 a text has three forms, depending on its offset; the characters at its ends depend on its neighbours
    // too.
    for offset in 0..<3 {
      let encoded = Data([UInt8](repeating: 0x20, count: offset) + plain).base64EncodedString()
      let (first, last) = (offset == 0 ? 0 : offset + 1, (offset + plain.count) * 8 / 6)
      let part = String(encoded.prefix(last).dropFirst(first))
      forms.insert(Data(part.utf8))
      forms.insert(Data(part.replacing("+", with: "-").replacing("/", with: "_").utf8))
    }
    return forms.count { bytes.range(of: $0) != nil }
  }
}

extension AgreementKeys {
  fileprivate func introduction(as role: AgreementRole) -> ([UInt8], [UInt8]) {
    (publicKey.bytes, commitment(as: role))
  }
}
