import Foundation
import Testing

@testable import FanmillClient
@testable import SocialAPI

/// Has the client decode answers of every form that the API's document allows.
@Suite(.timeLimit(.minutes(5))) struct ClientAnswerTests {
  @Test func everyAnswerWithFieldsIsReturned() {
    let returned = Set(Answer.all.map(\.call.operation.id))
    for call in ClientCall.all where call.operation.endings.contains(where: Answer.hasFields) {
      #expect(returned.contains(call.operation.id), "\(call.operation.id)")
    }
  }

  /// A client must decode a value with all fields and one with the required fields alone, and return each value.
  @Test func answersAreReturnedWhole() async throws {
    var missing: Set<String> = []
    for answer in Answer.all {
      for value in [answer.schema.full, answer.schema.least] {
        answer.check(value)
        missing.formUnion(try await answer.missing(of: value))
      }
    }
    #expect(missing == ClientCall.ignored)
  }

  /// A field is optional in the client if, and only if, it may be missing or null in the document. Words that the
  /// document does not know yet are kept.
  @Test func fieldsAreOptionalWhereTheyMayBeMissing() async throws {
    for answer in Answer.all {
      for variant in answer.schema.variants {
        let place = "\(answer.call.operation.id).\(variant.place)"
        if ClientCall.ignored.contains(place) { continue }
        switch variant.kind {
        case .valid, .later:
          if variant.kind == .valid { answer.check(variant.value) }
          let missing = try await answer.missing(of: variant.value).subtracting(ClientCall.ignored)
          #expect(missing.isEmpty, "\(place): \(variant.value.text)")
        case .invalid:
          let error = await #expect(throws: FanmillError.self, "\(place) may not be missing") {
            _ = try await answer.returned(for: variant.value)
          }
          #expect(error?.code == .malformedResponse, "\(place)")
        }
      }
    }
  }

  /// The values returned by calls that return some, with the schema that they come from.
  private struct Answer {
    let call: ClientCall
    let outcome: APIOperation.Outcome
    let schema: Schema

    static var all: [Answer] {
      ClientCall.all.filter(\.returnsFields).flatMap { call -> [Answer] in
        let present = ClientCall.present[call.operation.id] ?? []
        return call.operation.endings.filter(hasFields).compactMap { outcome -> Answer? in
          outcome.contents.first.map { content in
            Answer(call: call, outcome: outcome, schema: content.schema.requiring(present))
          }
        }
      }
    }

    static func hasFields(_ outcome: APIOperation.Outcome) -> Bool {
      outcome.contents.first?.contentType.hasSuffix("json") ?? false
    }

    func returned(for value: JSONLiteral) async throws -> JSONValue {
      let returned = try await call.send(AnsweringTransport(outcome, value).client)
      return try ReturnedValue.json(try #require(returned, "\(call.operation.id) returns nothing"))
    }

    /// The fields whose values are not returned.
    func missing(of value: JSONLiteral) async throws -> Set<String> {
      do {
        let returned = try await returned(for: value)
        let sent = try JSONValue(bytes: Array(value.text.utf8))
        return Set(ReturnedValue.missing(sent, in: returned, at: call.operation.id))
      } catch let error as FanmillError {
        Issue.record(
          "\(call.operation.id) cannot read \(value.text): \(error.underlying.map { "\($0)" } ?? "\(error)")")
        return []
      }
    }

    /// Checks that the schema allows the value.
    func check(_ value: JSONLiteral) {
      do {
        let violations = SchemaValidator().violations(try JSONValue(bytes: Array(value.text.utf8)), schema.json)
        #expect(violations.isEmpty, "\(call.operation.id)")
      } catch {
        Issue.record("\(call.operation.id): \(value.text) is not JSON")
      }
    }
  }
}
