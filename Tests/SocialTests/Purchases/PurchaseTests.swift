import Cryptography
import DurableJobs
import Foundation
import LibPQClient
import Locking
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(5))) struct PurchaseTests {
  private let date = Date(timeIntervalSince1970: 1_790_000_000)
  private let key = HMACSHA256(key: "a key of the tests, 32 characters or more".utf8)

  private func event(
    _ kind: PurchaseEvent.Kind, _ receipt: String, places: Int = 2, after seconds: Double = 0
  ) throws -> PurchaseEvent {
    try PurchaseEvent(kind, of: receipt, from: .notice, places: places, at: date + seconds)
  }

  private func apply(_ event: PurchaseEvent, to account: Int, _ app: App) async throws -> Purchases.Outcome {
    try await app.pool.transaction { try await Purchases.apply(event, to: account, in: $0) }
  }

  /// A notice in the generic form.
  private func sign(_ payload: String, head: String = #"{"alg":"HS256"}"#, key: HMACSHA256? = nil) -> String {
    let message = Base64URL.text(head.utf8) + "." + Base64URL.text(payload.utf8)
    return message + "." + Base64URL.text((key ?? self.key).code(for: message.utf8))
  }

  @Test func aReceiptGrantsOnceHoweverOftenItIsSent() async throws {
    try await App.run(connections: 16) { app in
      let fans = try await app.accounts(2)
      let outcomes = Locked<[Purchases.Outcome]>([])
      let taken = Locked(0)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<100 {
          group.addTask {
            let outcome = try await apply(event(.purchase, "one"), to: fans[0], app)
            outcomes.withLock { $0.append(outcome) }
          }
        }
        try await group.waitForAll()
      }
      #expect(outcomes.withLock { $0.filter { $0 == .granted }.count } == 1)
      #expect(outcomes.withLock { $0.count } == 100)
      #expect(try await Purchases.places(of: fans[0], in: app.pool) == 5)
      // Another account gets nothing for the same receipt.
      #expect(try await code { _ = try await apply(event(.purchase, "one"), to: fans[1], app) } == .receiptTaken)
      #expect(try await Purchases.places(of: fans[1], in: app.pool) == 3)
      // Two accounts race for one receipt: account 1 has it.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<32 {
          group.addTask {
            let refusal = try await code { _ = try await apply(event(.purchase, "two"), to: fans[number % 2], app) }
            if refusal == .receiptTaken { taken.withLock { $0 += 1 } }
          }
        }
        try await group.waitForAll()
      }
      #expect(taken.withLock { $0 } == 16)
      #expect(try await app.count("SELECT sum(places) FROM purchases WHERE receipt = 'two'") == 2)
      #expect(try await code { _ = try await apply(event(.purchase, "three"), to: 999_999, app) } == .notFound)
    }
  }

  @Test func noticesMayComeInAnyOrder() async throws {
    try await App.run { app in
      let fan = try await app.account("fan")
      let events = try [
        event(.purchase, "one"), event(.refund, "one", after: 10), event(.refundReversed, "one", after: 20),
        event(.refund, "one", after: 30),
      ]
      let seed = UInt64.random(in: 0 ... .max)
      var random = SeededGenerator(seed: seed)
      for _ in 0..<24 {
        try await app.pool.execute("DELETE FROM purchases")
        for event in (events + events).shuffled(using: &random) { _ = try await apply(event, to: fan, app) }
        #expect(try await Purchases.places(of: fan, in: app.pool) == 3, "seed \(seed)")
        #expect(try await apply(event(.refundReversed, "one", after: 40), to: fan, app) == .restored)
        #expect(try await Purchases.places(of: fan, in: app.pool) == 5, "seed \(seed)")
      }
    }
  }

  @Test func aRefundDeletesNothingAndNothingIsAddedUntilAllFit() async throws {
    try await App.run { app in
      let fan = try await app.account("fan")
      #expect(try await apply(event(.purchase, "one"), to: fan, app) == .granted)
      for number in 0..<5 { try await app.register(.channel(number), by: fan) }
      #expect(try await code { try await app.register(.channel(5), by: fan) } == .celebLimit)
      #expect(try await apply(event(.refund, "one", after: 1), to: fan, app) == .refunded)
      #expect(try await Celebs.list(of: fan, in: app.pool).count == 5)
      // One for one, and no more.
      try await app.replace(.channel(0), by: .channel(6), of: fan)
      for number in 1...2 {
        #expect(try await code { try await app.register(.channel(5), by: fan) } == .celebLimit)
        try await app.remove(.channel(number), by: fan)
      }
      #expect(try await code { try await app.register(.channel(5), by: fan) } == .celebLimit)
      try await app.remove(.channel(3), by: fan)
      try await app.register(.channel(5), by: fan)
      let list = try await Purchases.list(of: fan, in: app.pool)
      #expect(list.map(\.receipt) == ["one"] && list[0].grantedAt == date && list[0].refundedAt == date + 1)
    }
  }

  @Test func racingRegistrationsPurchasesAndRefundsNeverMakeOneTooMany() async throws {
    try await App.run(connections: 24) { app in
      let fan = try await app.account("fan")
      let seed = UInt64.random(in: 0 ... .max)
      print("seed \(seed)")
      // The count after a successful registration never exceeds the places of all purchases together.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for racer in 0..<24 {
          group.addTask {
            var random = SeededGenerator(seed: seed &+ UInt64(racer))
            for step in 0..<10 {
              let channel = try CelebAccount.channel(.random(in: 0..<12, using: &random))
              let other = try CelebAccount.channel(.random(in: 0..<12, using: &random))
              let receipt = "receipt\(Int.random(in: 0..<2, using: &random))"
              let choice = Int.random(in: 0..<5, using: &random)
              _ = try await code {
                switch choice {
                case 0: _ = try await apply(event(.purchase, receipt), to: fan, app)
                case 1: _ = try await apply(event(.refund, receipt, after: Double(racer * 10 + step)), to: fan, app)
                case 2: try await app.replace(channel, by: other, of: fan)
                case 3: try await app.remove(channel, by: fan)
                default: try await app.register(channel, by: fan)
                }
              }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await Celebs.list(of: fan, in: app.pool).count <= 7, "seed \(seed)")
      // Once everything is quiet, the current number of places decides.
      for number in 0..<12 { _ = try await code { try await app.register(.channel(number), by: fan) } }
      let places = try await Purchases.places(of: fan, in: app.pool)
      #expect(try await Celebs.list(of: fan, in: app.pool).count >= places, "seed \(seed)")
      try await app.drain()
      try await app.expectExactRankings()
    }
  }

  @Test func aGenericNoticeIsSignedWithTheKey() async throws {
    try await App.run { app in
      let fan = try await app.account("fan")
      let token = try await Purchases.token(of: fan, in: app.pool)
      #expect(try await Purchases.token(of: fan, in: app.pool) == token)
      let rules = PurchaseRules(key: key)
      func payload(_ type: String = "purchase", celebs: Int = 2, receipt: String = "one") -> String {
        #"{"type":"\#(type)","receipt":"\#(receipt)","account":"\#(token)","celebs":\#(celebs),"at":1790000000}"#
      }
      let notice = try PurchaseNotice(generic: sign(payload()), rules)
      #expect(notice.token == token && notice.event.places == 2 && notice.event.date == date)
      #expect(try await app.pool.transaction { try await notice.apply(in: $0) } == .granted)
      #expect(try await Purchases.places(of: fan, in: app.pool) == 5)

      func code(_ text: String, _ rules: PurchaseRules) -> SocialError.Code? {
        do throws(SocialError) {
          _ = try PurchaseNotice(generic: text, rules)
          return nil
        } catch { return error.code }
      }
      #expect(code(sign(payload()), PurchaseRules()) == .purchasesOff)
      #expect(code("no notice", rules) == .malformedNotice)
      #expect(code(sign("{}"), rules) == .malformedNotice)
      #expect(code(sign(payload(), key: HMACSHA256(key: "another".utf8)), rules) == .forgedNotice)
      for head in [#"{"alg":"none"}"#, #"{"alg":"ES256"}"#, #"{"alg":"hs256"}"#] {
        #expect(code(sign(payload(), head: head), rules) == .forgedNotice, "\(head)")
      }
      #expect(code(sign(payload(), head: #"{"alg":"HS256","crit":["exp"]}"#), rules) == .malformedNotice)
      let parts = sign(payload()).split(separator: ".")
      #expect(code("\(parts[0]).\(parts[1]).", rules) == .forgedNotice)
      #expect(code("\(parts[0]).\(Base64URL.text(payload(celebs: 9).utf8)).\(parts[2])", rules) == .forgedNotice)
      #expect(code(sign(payload("gift")), rules) == .invalid("type"))
      #expect(code(sign(payload(celebs: 0)), rules) == .invalid("celebs"))
      #expect(code(sign(payload(celebs: 1001)), rules) == .invalid("celebs"))
      #expect(code(sign(payload(receipt: "")), rules) == .invalid("receipt"))
      #expect(code(sign(String(repeating: " ", count: 100_000)), rules) == .malformedNotice)
    }
  }

  @Test func applesNoticesLeadToTheRoot() async throws {
    let store = try AppStore()
    let (token, now) = (UUID(), Date())
    func read(_ text: String, _ rules: PurchaseRules? = nil, now: Date = Date()) throws -> PurchaseNotice? {
      try PurchaseNotice.storeKit(text, rules ?? store.rules, now: now)
    }
    let bought = try #require(try read(store.notice("ONE_TIME_CHARGE", "1", for: token, quantity: 2, at: now)))
    #expect(bought.token == token && bought.event.kind == .purchase && bought.event.receipt == "1")
    #expect(bought.event.places == 4 && bought.event.source == .storekit && bought.event.product == "two")
    #expect(abs(bought.event.date.timeIntervalSince(now)) < 0.01)
    #expect(try read(store.notice("REFUND", "1", for: token))?.event.kind == .refund)
    #expect(try read(store.notice("REVOKE", "1", for: token))?.event.kind == .refund)
    #expect(try read(store.notice("REFUND_REVERSED", "1", for: token))?.event.kind == .refundReversed)

    // A notice unrelated to places is accepted, and changes nothing.
    #expect(try read(store.notice("DID_RENEW", "1", for: token)) == nil)
    #expect(try read(store.notice("ONE_TIME_CHARGE", "1", for: token, product: "other")) == nil)
    #expect(try read(store.notice("ONE_TIME_CHARGE", "1", for: nil)) == nil)
    #expect(try read(store.sign(#"{"notificationType":"TEST","signedDate":1}"#)) == nil)
    let sandbox = try store.notice("ONE_TIME_CHARGE", "1", for: token, environment: "Sandbox")
    #expect(try read(sandbox) == nil)
    var rules = store.rules
    rules.storeKit?.acceptsSandbox = true
    #expect(try read(sandbox, rules)?.token == token)

    func code(_ text: String, _ rules: PurchaseRules? = nil, now: Date = Date()) throws -> SocialError.Code? {
      do {
        _ = try read(text, rules, now: now)
        return nil
      } catch let error as SocialError { return error.code }
    }
    let good = try store.notice("ONE_TIME_CHARGE", "1", for: token)
    #expect(try code(good, PurchaseRules()) == .purchasesOff)
    #expect(try code("x") == .malformedNotice)
    #expect(try code(store.notice("ONE_TIME_CHARGE", "1", for: token, bundle: "org.example.other")) == .forgedNotice)
    // Another root, an expired certificate, one not valid yet, one without the extension, a chain with a gap, no chain.
    let other = try AppStore()
    #expect(try code(other.notice("ONE_TIME_CHARGE", "1", for: token)) == .forgedNotice)
    #expect(try code(other.sign("{}", chain: store.chain)) == .forgedNotice)
    #expect(try code(good, now: Date(timeIntervalSinceNow: 31 * 86_400)) == .forgedNotice)
    #expect(try code(good, now: Date(timeIntervalSinceNow: -86_400)) == .forgedNotice)
    let unmarked = try AppStore(leafMark: nil)
    #expect(try code(unmarked.notice("ONE_TIME_CHARGE", "1", for: token), unmarked.rules) == .forgedNotice)
    for chain in [[store.chain[0], store.root], [], [store.root], [[1, 2, 3]], Array(store.chain.reversed())] {
      #expect(try code(store.sign("{}", chain: chain)) == .forgedNotice)
    }
    #expect(try code(store.sign("{}", algorithm: "HS256")) == .forgedNotice)
    let parts = good.split(separator: ".")
    #expect(try code("\(parts[0]).\(Base64URL.text("{}".utf8)).\(parts[2])") == .forgedNotice)
    // The root itself may be left out.
    let short = try store.sign(#"{"notificationType":"TEST","signedDate":1}"#, chain: Array(store.chain.prefix(2)))
    #expect(try read(short) == nil)
    for made in [store, other, unmarked] { try made.remove() }
  }

  @Test func aDeletedAccountsReceiptsGrantNothingToOthers() async throws {
    try await App.run { app in
      let fans = try await app.accounts(2)
      _ = try await Purchases.token(of: fans[0], in: app.pool)
      #expect(try await apply(event(.purchase, "one"), to: fans[0], app) == .granted)
      try await app.client.transaction { try await Deletions.delete(fans[0], in: $0) }
      try await app.drain()
      #expect(try await LeftoverAudit.run(on: app.pool).isClean)
      #expect(try await app.count("SELECT count(*) FROM purchase_tokens") == 0)
      #expect(try await code { _ = try await apply(event(.purchase, "one"), to: fans[1], app) } == .receiptTaken)
    }
  }
}
