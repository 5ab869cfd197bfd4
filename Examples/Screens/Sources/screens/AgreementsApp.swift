import Agreements
import FanmillClient
import Foundation

/// Agreement exchange: two phones meet, seal a record that only they can read, and one withdraws.
enum AgreementsApp {
  static func walk(_ walk: Walk) async throws {
    walk.screen("Are you an adult?")
    var ann = try await walk.signUp("ann", "Ann")
    let bob = try await walk.signUp("bob", "Bob", adult: true)
    let early = Phone(ann, "Ann's phone", as: .host)
    await walk.expectRefusal(.adultStatementNeeded) {
      var phone = early
      _ = try await phone.begin()
    }
    walk.expect("the statement", try await ann.client.me.change(ProfileChanges(adult: true)).adult)
    walk.show("[x] I am an adult")

    walk.screen("Choose a text")
    let templates = try await ann.client.agreements.templates()
    for template in templates { walk.show(template.title) }
    walk.expect(
      "texts in two languages", try await ann.client.agreements.templates(language: "ko").count, templates.count)
    guard let text = templates.first?.text else { throw Walk.Late(description: "the server offers no text") }

    var (host, joiner) = (Phone(ann, "Ann's phone", as: .host), Phone(bob, "Bob's phone", as: .joiner))
    try await meet(walk, &host, &joiner)
    let record = try await exchange(walk, &host, &joiner, text)
    try await seal(walk, host, joiner, record)
    try await backUp(walk, host, &ann)
    try await withdraw(walk, host, joiner)
  }

  private static func meet(_ walk: Walk, _ host: inout Phone, _ joiner: inout Phone) async throws {
    walk.screen("Meet")
    var news = try await Listener(host.person)
    let code = try await host.begin()
    walk.show("Ann shows \(code.prefix(3)) \(code.suffix(3)) and a QR code", "Bob types it")
    walk.expect("six digits", code.count == 6 && code.allSatisfy(\.isNumber))
    let (guess, person) = (code == "123456" ? "654321" : "123456", host.person)
    let early = joiner
    await walk.expectRefusal(.wrongCode) {
      var phone = early
      try await phone.join(person, code: guess)
    }
    try await joiner.join(host.person, code: code)
    let id = host.id
    _ = try await news.first { kind -> Bool? in
      if case .agreement(let change) = kind, change.id == id, change.state == .joined { true } else { nil }
    }
    walk.show("Bob is here")
    walk.expect("one meeting", host.id, joiner.id)

    walk.screen("Compare the words")
    try await host.open()
    try await joiner.open()
    let (words, others) = (try await host.words(), try await joiner.words())
    walk.show("Ann sees   \(words.joined(separator: " "))", "Bob sees   \(others.joined(separator: " "))")
    walk.expect("the words", words, others)
    walk.expect("four of them", words.count, 4)
  }

  private static func exchange(
    _ walk: Walk, _ host: inout Phone, _ joiner: inout Phone, _ text: String
  ) async throws -> AgreementRecord {
    walk.screen("Are you near each other?")
    let here = try AgreementPlace(latitude: 37.5665, longitude: 126.978, accuracy: 8)
    let there = try AgreementPlace(latitude: 37.5666, longitude: 126.9781, accuracy: 12)
    try await host.send(.place(here))
    try await joiner.send(.place(there))
    guard case .place(let bobs) = try await host.receive(), case .place(let anns) = try await joiner.receive() else {
      throw Walk.Late(description: "no places were exchanged")
    }
    walk.show("\(Int(here.distance(to: bobs).rounded())) metres apart")
    walk.expect("the places", [anns, bobs], [here, there])
    try here.checkNearness(to: bobs)

    walk.screen("Read and agree")
    let record = try AgreementRecord(text: text, time: Date.now, place: here, host: host.party, joiner: joiner.party)
    try await host.send(.record(record))
    guard case .record(let received) = try await joiner.receive() else {
      throw Walk.Late(description: "no record was sent")
    }
    try received.check(
      text: text, place: there, host: host.party, joiner: joiner.party,
      expiresAt: Date(timeIntervalSince1970: TimeInterval(record.expiresAt)), now: Date.now)
    walk.show(
      received.text.split(separator: "\n").first.map(String.init) ?? "",
      "\(received.host.device) and \(received.joiner.device), for a day", "[ Agree ]  [ Decline ]")
    walk.expect("the record", received, record)
    return record
  }

  private static func seal(_ walk: Walk, _ host: Phone, _ joiner: Phone, _ record: AgreementRecord) async throws {
    walk.screen("Sealed")
    let first = try await host.seal(record)
    walk.expect("one seal is no agreement", first.state, .joined)
    walk.expect("the list before the second seal", try await host.person.client.agreements.list().page().items.count, 0)
    walk.expect("two seals are", try await joiner.seal(record).state, .sealed)
    for (phone, role, peer) in [(host, MeetingRole.host, joiner), (joiner, .joiner, host)] {
      let (shown, kept, receipt) = try await phone.agreement()
      walk.show("\(phone.person.name): with \(shown.peer?.name ?? ""), receipt \(receipt.id), verified on the phone")
      walk.expect("the copy", kept, record)
      walk.expect("the role", shown.role, role)
      walk.expect("the other party", shown.peer?.username, peer.person.username)
      walk.expect("no withdrawal", shown.withdrawnAt == nil && receipt.withdrawnAt == nil)
    }
  }

  private static func backUp(_ walk: Walk, _ phone: Phone, _ person: inout Person) async throws {
    walk.screen("Ann loses her phone")
    let (lock, secret) = (try PasscodeLock(passcode: "314159"), Phone.random(32))
    try await person.client.agreements.backup.store(
      AgreementBackup(
        salt: Data(lock.salt), proof: Data(lock.proof), secret: Data(secret),
        locked: Data(try lock.lock(phone.copyKey, with: secret))))
    person.client = try await walk.client.signIn(email: "\(person.username)@example.org", password: Walk.password)
    let backup = person.client.agreements.backup
    let salt = Array(try await backup.summary().salt)
    await walk.expectRefusal(.wrongPasscode) {
      _ = try await backup.open(proof: Data(try PasscodeLock(passcode: "271828", salt: salt).proof))
    }
    walk.show("\(try await backup.summary().triesLeft) tries left")
    walk.expect("tries", try await backup.summary().triesLeft, 9)
    let right = try PasscodeLock(passcode: "314159", salt: salt)
    let opened = try await backup.open(proof: Data(right.proof))
    let key = try right.open(Array(opened.locked), with: Array(opened.secret))
    let restored = try await Phone.agreement(phone.id, of: person, key: key)
    walk.show("Restored: \(restored.record.text.prefix(40))…")
    walk.expect("the key", key, phone.copyKey)
  }

  private static func withdraw(_ walk: Walk, _ host: Phone, _ joiner: Phone) async throws {
    walk.screen("Bob withdraws")
    var news = try await Listener(host.person)
    let date = try await joiner.person.client.agreements.withdraw(joiner.id)
    let id = host.id
    _ = try await news.first { kind -> Bool? in
      if case .agreement(let change) = kind, change.id == id, change.state == .withdrawn { true } else { nil }
    }
    let (shown, _, receipt) = try await host.agreement()
    walk.show("WITHDRAWN by \(shown.withdrawnBy == "peer" ? shown.peer?.name ?? "" : "you")")
    walk.expect("who", shown.withdrawnBy, "peer")
    walk.expect("when", shown.withdrawnAt, date)
    walk.expect("the receipt", receipt.withdrawnAt != nil)
    try await host.person.client.agreements.delete(id)
    walk.expect("Ann's list", try await host.person.client.agreements.list().page().items.count, 0)
    walk.expect("Bob's list", try await joiner.person.client.agreements.list().page().items.map(\.id), [id])
  }
}
