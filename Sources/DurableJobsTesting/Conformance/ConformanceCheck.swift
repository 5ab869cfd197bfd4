/// One promise of a broker, a ledger or a store of schedules, with the code that checks it.
///
/// A list of them is the argument of a parameterized test:
///
/// ```swift
/// @Test(.timeLimit(.minutes(5)), arguments: BrokerConformance.checks)
/// func myBroker(_ check: BrokerCheck) async throws {
///   let broker = MyBroker()
///   try await check.run(on: BrokerUnderTest(broker: broker) { await broker.forgetEverything() })
/// }
/// ```
///
/// A check needs no test framework: it throws what it found wrong. One that waits for what never comes gives up after a
/// minute; the test's own limit ends a call that never returns.
public struct ConformanceCheck<Subject: Sendable>: Sendable, CustomStringConvertible {
  /// The promise, as a sentence.
  public let description: String
  private let body: @Sendable (Subject) async throws -> Void

  init(_ description: String, _ body: @escaping @Sendable (Subject) async throws -> Void) {
    self.description = description
    self.body = body
  }

  /// Checks the promise.
  ///
  /// - Parameter subject: one that is fresh: no other check has used it or uses it meanwhile.
  /// - Throws: ``ConformanceFailure`` where the promise is broken; whatever the subject threw where it should not have.
  public func run(on subject: Subject) async throws { try await body(subject) }
}

/// A promise that an implementation breaks, with the line of the check that saw it.
public struct ConformanceFailure: Error, CustomStringConvertible {
  public let description: String

  init(_ message: String, file: StaticString = #fileID, line: UInt = #line) {
    description = "\(message) (\(file):\(line))"
  }
}
