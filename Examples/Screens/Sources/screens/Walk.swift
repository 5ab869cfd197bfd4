import FanmillClient
import Foundation
import Synchronization

/// A walk through an app's screens: prints what they show, and counts what differs from what they should show.
final class Walk: Sendable {
  /// Not signed in.
  let client: FanmillClient
  /// Distinguishes the names of this walk from those of earlier ones.
  let suffix = String(UUID().uuidString.lowercased().prefix(6))
  private let count = Mutex(0)

  static let password = "a long password"

  init(_ client: FanmillClient) { self.client = client }

  var differences: Int { count.withLock(\.self) }

  // MARK: Printing

  func screen(_ title: String) {
    print("\n── \(title) " + String(repeating: "─", count: max(0, 60 - title.count)))
  }

  func show(_ lines: String...) {
    for line in lines { print("  " + line) }
  }

  func differs(_ what: String) {
    count.withLock { $0 += 1 }
    print("  ✗ \(what)")
  }

  /// Compares what a screen shows.
  func expect<Value: Equatable>(_ what: String, _ shown: Value, _ expected: Value) {
    if shown != expected { differs("\(what): \(shown) instead of \(expected)") }
  }

  func expect(_ what: String, _ isSo: Bool) {
    if !isSo { differs(what) }
  }

  /// Compares the reason for which the server refuses a tap, and shows it as the app's alert.
  func expectRefusal(_ code: FanmillError.Code, _ tap: () async throws -> Void) async {
    do {
      try await tap()
      differs("not refused with \(code)")
    } catch let error as FanmillError {
      show("[\(error.message)]")
      expect("refused", error.code, code)
    } catch {
      differs("\(error)")
    }
  }

  // MARK: Accounts

  func name(_ stem: String) -> String { "\(stem)-\(suffix)" }

  /// Signs up, as an app's first screen does.
  func signUp(_ stem: String, _ name: String, major: String? = nil, adult: Bool? = nil) async throws -> Person {
    let username = self.name(stem)
    let client = try await client.signUp(
      Registration(
        username: username, email: "\(username)@example.org", password: Self.password, name: name, major: major,
        adult: adult))
    return Person(client: client, username: username, name: name)
  }

  // MARK: Waiting

  struct Late: Error, CustomStringConvertible {
    let description: String
  }

  /// Ends `body` at a limit.
  func within(_ limit: Duration, _ body: @escaping @Sendable () async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await body() }
      group.addTask {
        try await Task.sleep(for: limit)
        throw Late(description: "not done within \(limit)")
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Reads again until workers have done their part.
  func eventually<Value>(_ what: String, _ read: () async throws -> Value?) async throws -> Value {
    for _ in 1...150 {
      if let value = try await read() { return value }
      try await Task.sleep(for: .milliseconds(100))
    }
    throw Late(description: "\(what): not within 15 seconds")
  }
}

/// A person with a phone.
struct Person: Sendable {
  var client: FanmillClient
  var username: String
  let name: String
}

/// The events that a screen waits for.
struct Listener {
  private var events: EventStream.AsyncIterator

  /// Opens the stream: what happens from now on is heard.
  init(_ person: Person, posts: [Post.ID] = []) async throws {
    events = person.client.events.stream(posts: posts).makeAsyncIterator()
    _ = try await first { kind -> Bool? in if case .connected = kind { true } else { nil } }
  }

  /// The first event from which `read` makes a value; the others are skipped.
  mutating func first<Value>(_ read: (StreamEvent.Kind) -> Value?) async throws -> Value {
    while let event = try await events.next() {
      if let value = read(event.kind) { return value }
    }
    throw CancellationError()
  }
}
