// Assertions for checks. They throw, so that the suite needs no test framework.

func expect(
  _ condition: Bool, _ comment: @autoclosure () -> String = "", file: StaticString = #fileID, line: UInt = #line
) throws {
  if !condition {
    throw ConformanceFailure(sentence("the expectation does not hold", comment()), file: file, line: line)
  }
}

func expect<Value: Equatable>(
  _ value: Value, equals expected: Value, _ comment: @autoclosure () -> String = "", file: StaticString = #fileID,
  line: UInt = #line
) throws {
  if value == expected { return }
  throw ConformanceFailure(sentence("found \(value), expected \(expected)", comment()), file: file, line: line)
}

@discardableResult
func expect<Failure: Error>(
  throwing type: Failure.Type, file: StaticString = #fileID, line: UInt = #line, _ body: () async throws -> some Any
) async throws -> Failure {
  let result: Any
  do {
    result = try await body()
  } catch let failure as ConformanceFailure {
    throw failure
  } catch let error as Failure {
    return error
  }
  throw ConformanceFailure("returned \(result), expected an error of type \(type)", file: file, line: line)
}

func require<Value>(_ value: Value?, file: StaticString = #fileID, line: UInt = #line) throws -> Value {
  guard let value else { throw ConformanceFailure("found nil, expected a value", file: file, line: line) }
  return value
}

/// Waits until `condition` holds. It gives up only after a generous time, since a busy machine is slow, not wrong.
func eventually(
  _ what: String, file: StaticString = #fileID, line: UInt = #line, _ condition: () async throws -> Bool
) async throws {
  _ = try await eventual(what, file: file, line: line) { try await condition() ? true : nil }
}

/// Waits until `produce` returns a value.
func eventual<Value>(
  _ what: String, file: StaticString = #fileID, line: UInt = #line, _ produce: () async throws -> Value?
) async throws -> Value {
  let deadline = ContinuousClock.now + .seconds(60)
  while true {
    if let value = try await produce() { return value }
    if ContinuousClock.now > deadline { throw ConformanceFailure("never happened: \(what)", file: file, line: line) }
    try await Task.sleep(for: .milliseconds(3))
  }
}

private func sentence(_ finding: String, _ comment: String) -> String {
  comment.isEmpty ? finding : "\(finding): \(comment)"
}
