import Testing

@testable import FanmillClient
@testable import SocialAPI

/// Compares the client's requests with the API's document.
@Suite(.timeLimit(.minutes(2))) struct ClientRequestTests {
  @Test func everyOperationHasACall() {
    let called = Set(ClientCall.all.map(\.operation.id))
    let uncalled = Set(ClientCall.uncalled.keys)
    let declared = Set(APIOperation.all.map(\.id))
    #expect(called.union(uncalled) == declared, "without a call: \(declared.subtracting(called).subtracting(uncalled))")
    #expect(called.isDisjoint(with: uncalled))
  }

  @Test func requestsAreAsDeclared() async throws {
    for call in ClientCall.all {
      #expect(!call.operation.endings.isEmpty, "\(call.operation.id)")
      for ending in call.operation.endings {
        let transport = AnsweringTransport(ending)
        _ = try await call.send(transport.client)
        #expect(transport.requests.count == 1, "\(call.operation.id)")
        for request in transport.requests {
          for violation in RequestChecker(operation: call.operation, request: request).violations {
            Issue.record("\(call.operation.id): \(violation)")
          }
        }
      }
    }
  }

  @Test func everyFieldAndParameterIsSent() async throws {
    var sent: [String: Set<String>] = [:]
    for call in ClientCall.all {
      let transport = AnsweringTransport(try #require(call.operation.endings.first))
      _ = try await call.send(transport.client)
      for request in transport.requests {
        sent[call.operation.id, default: []].formUnion(
          RequestChecker(operation: call.operation, request: request).names)
      }
    }
    var missing: Set<String> = []
    for operation in APIOperation.all {
      guard var names = sent[operation.id] else { continue }
      // The client keeps no answers.
      if operation.isConditional { names.insert("If-None-Match") }
      // It has no effect there.
      if operation.method == .post, !operation.isIdempotent { names.insert("Idempotency-Key") }
      // The client reads short lists whole.
      if operation.isShortList { names.formUnion(["before", "limit"]) }
      missing.formUnion(RequestChecker.declared(operation).subtracting(names).map { "\(operation.id).\($0)" })
    }
    #expect(missing == Set(ClientCall.unsent.keys))
  }
}
