/// One promise of a broker, a ledger or a schedule store, with the code that checks it.
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
/// A check needs no test framework: it throws on a broken promise. A check whose condition never holds gives up after a
/// minute; the test's own time limit ends a call that never returns.
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
  /// - Parameter subject: a fresh subject that no other check has used or uses at the same time.
  /// - Throws: ``ConformanceFailure`` for a broken promise; unexpected errors of the subject.
  public func run(on subject: Subject) async throws { try await body(subject) }
}

/// A broken promise, with the line of the check that found it.
public struct ConformanceFailure: Error, CustomStringConvertible {
  public let description: String

  init(_ message: String, file: StaticString = #fileID, line: UInt = #line) {
    description = "\(message) (\(file):\(line))"
  }
}
