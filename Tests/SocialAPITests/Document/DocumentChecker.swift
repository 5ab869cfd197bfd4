import Foundation
import LocalStack
import Testing

@testable import SocialAPI

/// Compares every request of the tests, and its answer, with the API's document. A difference is a failure of the test
/// that sent the request.
enum DocumentChecker {
  struct Sent {
    let method: String
    /// With the query.
    let path: String
    let body: [UInt8]
  }

  static func check(_ sent: Sent, _ answer: LoopbackHTTP.Answer) {
    for violation in violations(sent, answer) {
      Issue.record("the document differs: \(sent.method) \(sent.path), \(answer.status): \(violation)")
    }
  }

  static func check(_ event: EventSource.Event) {
    guard let declared = EventDeclaration.all.first(where: { $0.name == event.name }) else {
      Issue.record("the document has no event '\(event.name)'")
      return
    }
    do {
      let data = try JSONValue(bytes: Array(event.data.utf8))
      for violation in SchemaValidator().violations(data, declared.schema.json) {
        Issue.record("the document differs: event \(event.name): \(violation)")
      }
    } catch {
      Issue.record("event \(event.name) has no JSON: \(event.data)")
    }
    if !declared.hasID, event.id != nil { Issue.record("event \(event.name) has an id") }
  }

  static func violations(_ sent: Sent, _ answer: LoopbackHTTP.Answer) -> [String] {
    guard let operation = operation(sent.method, sent.path) else {
      return answer.status == 404 ? [] : ["no route is declared"]
    }
    let found =
      if let outcome = operation.answers.first(where: { $0.status == answer.status }) {
        violations(operation, outcome, answer) + violations(operation, sent, answer.status)
      } else {
        violations(operation, answer)
      }
    return found.map { "\(operation.id): \($0)" }
  }

  // MARK: Operations

  /// The operation that serves a request, as the router chooses it: literal names go before parameters.
  static func operation(_ method: String, _ path: String) -> APIOperation? {
    let parts = segments(path)
    return APIOperation.all.filter { operation in
      let form = segments(operation.fullPath)
      return operation.method.rawValue == method && form.count == parts.count
        && zip(form, parts).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
    }.max { literals($0) < literals($1) }
  }

  private static func segments(_ path: String) -> [Substring] {
    (path.split(separator: "?", omittingEmptySubsequences: false).first ?? "").split(separator: "/")
  }

  private static func literals(_ operation: APIOperation) -> Int {
    segments(operation.fullPath).count { !$0.hasPrefix("{") }
  }

  // MARK: Answers

  private static func violations(
    _ operation: APIOperation, _ outcome: APIOperation.Outcome, _ answer: LoopbackHTTP.Answer
  ) -> [String] {
    var found = missing(outcome.headers, answer)
    if operation.method == .head { return found }
    guard !outcome.contents.isEmpty else {
      return found + (answer.body.isEmpty ? [] : ["the answer has a body"])
    }
    let type = contentType(answer)
    guard let content = outcome.contents.first(where: { $0.contentType == type }) else {
      return found + ["the Content-Type is \(type)"]
    }
    guard type.hasSuffix("json") else { return found }
    do {
      found += SchemaValidator().violations(try JSONValue(bytes: answer.body), content.schema.json, at: "answer")
    } catch {
      found.append("the answer is not JSON")
    }
    return found
  }

  private static func violations(_ operation: APIOperation, _ answer: LoopbackHTTP.Answer) -> [String] {
    let errors = operation.errors.filter { $0.status == answer.status }
    let type = contentType(answer)
    if operation.answersPages, type == "text/html" {
      return errors.isEmpty ? ["the status is not declared"] : []
    }
    if operation.method == .head { return errors.isEmpty ? ["the status is not declared"] : [] }
    guard type == "application/problem+json" else { return ["the Content-Type is \(type)"] }
    do {
      let problem = try JSONValue(bytes: answer.body)
      let found = SchemaValidator().violations(problem, Components.problem.json, at: "problem")
      guard case .object(let fields) = problem, case .string(let code) = fields["code"] else { return found }
      // Malformed requests may fail before their route.
      if code == ProblemCode.malformedRequest.code { return found }
      guard let error = errors.first(where: { $0.code == code }) else {
        return found + ["the code '\(code)' is not declared for this status"]
      }
      return found + missing(error.headers.filter { !$0.name.hasPrefix("RateLimit") }, answer)
    } catch {
      return ["the problem is not JSON"]
    }
  }

  private static func missing(_ headers: [APIOperation.Header], _ answer: LoopbackHTTP.Answer) -> [String] {
    headers.filter { answer.headers[$0.name.lowercased()] == nil }.map { "the header \($0.name) is missing" }
  }

  private static func contentType(_ answer: LoopbackHTTP.Answer) -> String {
    let header = answer.headers["content-type"] ?? "missing"
    return String(header.split(separator: ";").first ?? "").trimmingCharacters(in: .whitespaces)
  }

  // MARK: Requests

  /// What is wrong with a request that was accepted.
  private static func violations(_ operation: APIOperation, _ sent: Sent, _ status: Int) -> [String] {
    guard (200..<300).contains(status) else { return [] }
    var found: [String] = []
    let names = operation.parameters.filter { $0.place == .query }.map(\.name)
    for pair in sent.path.split(separator: "?").dropFirst().joined().split(separator: "&") {
      let name = String(pair.split(separator: "=").first ?? "")
      if !names.contains(name) { found.append("the parameter \(name) is not declared") }
    }
    if let body = operation.body, body.contentType == "application/json" {
      do {
        let value = try JSONValue(bytes: sent.body)
        found += SchemaValidator(acceptsNull: true).violations(value, body.schema.json, at: "body")
      } catch {
        found.append("the body is not JSON, and was accepted")
      }
    }
    return found
  }
}
