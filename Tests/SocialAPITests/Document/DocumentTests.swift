import LocalStack
import Foundation
import Social
import Testing

@testable import SocialAPI

/// The API's document by itself: whether it is whole, and agrees with the router and the problems.
@Suite struct DocumentTests {
  @Test func everyRouteIsDeclaredOnce() {
    let ids = APIOperation.all.map(\.id)
    #expect(Set(ids).count == ids.count)
    let places = APIOperation.all.map { "\($0.method.rawValue) \($0.fullPath)" }
    #expect(Set(places).count == places.count)
  }

  @Test func everyDeclarationIsRouted() async throws {
    try await API.run { api in
      let routed = Set(api.routes)
      let declared = Set(APIOperation.all.map { "\($0.method.rawValue) \($0.fullPath)" })
      #expect(declared.subtracting(routed).isEmpty)
      #expect(routed.subtracting(declared).isEmpty)
    }
  }

  @Test func budgetsAreDeclared() {
    for operation in APIOperation.all {
      // A search spends where its lookup begins, if one does.
      if operation.id == APIOperation.searchChannels.id { continue }
      let budget = RequestBudget.spent(by: operation.method.httpMethod, on: operation.fullPath, RequestLimits())
      #expect((budget != nil) == operation.isBudgeted, "\(operation.id)")
    }
  }

  @Test func everyOperationSaysEnough() {
    for operation in APIOperation.all {
      #expect(operation.summary.hasSuffix("."), "\(operation.id)")
      #expect(!operation.outcomes.isEmpty, "\(operation.id)")
      let isPublic = operation.tag == .document || operation.id == "listKeys"
      #expect(isPublic || operation.errors.contains { (400..<500).contains($0.status) }, "\(operation.id)")
      // The parameters of the path are those that are declared.
      let named = operation.fullPath.split(separator: "/").filter { $0.hasPrefix("{") }.map {
        $0.dropFirst().dropLast()
      }
      let declared = operation.parameters.filter { $0.place == .path }.map(\.name)
      #expect(Set(named.map(String.init)) == Set(declared), "\(operation.id)")
      for content in operation.outcomes.flatMap(\.contents) where content.contentType == "application/json" {
        #expect(content.sample != .null, "\(operation.id)")
      }
    }
  }

  @Test func examplesAreValid() throws {
    func check(_ example: JSONLiteral, _ schema: Schema, _ place: String) throws {
      let value = try JSONValue(bytes: Array(example.text.utf8))
      #expect(SchemaValidator().violations(value, schema.json, at: place).isEmpty, "\(place): \(example.text)")
    }
    for (name, schema) in Components.all { try check(schema.sample, schema, name) }
    for event in EventDeclaration.all { try check(event.schema.sample, event.schema, event.name) }
    for operation in APIOperation.all {
      for content in operation.outcomes.flatMap(\.contents) where content.contentType == "application/json" {
        try check(content.sample, content.schema, operation.id)
      }
      if let body = operation.body, body.contentType == "application/json" {
        try check(body.sample, body.schema, "\(operation.id)'s body")
      }
      for parameter in operation.parameters where parameter.place == .path {
        try check(parameter.schema.sample, parameter.schema, "\(operation.id)'s \(parameter.name)")
      }
    }
    for problem in ProblemCode.all { try check(problem.example, Components.problem, problem.code) }
  }

  @Test func problemsHaveTheStatusOfTheirCode() {
    // Those that no `SocialError` has, or that have two statuses.
    let others: Set<ProblemCode> = [
      .malformedBody, .malformedRequest, .bodyTooLarge, .rateLimited, .internalError, .unavailable, .storageFull,
      .pictureStorageFull, .moved, .movedPermanently, .unsupportedMedia, .lookupShareSpent, .quotaExhausted,
      .lookupsUnavailable, .readOnly, .adminOnly, .unknownQueue, .alreadyPending, .notSampled,
      .requestTimeout, .tooManyConnections, .noRoom,
    ]
    for problem in ProblemCode.all where !others.contains(problem) {
      let error = SocialError(SocialError.Code(rawValue: problem.code), "")
      #expect(Problem(error)?.status == problem.status, "\(problem.code)")
    }
    let keys = ProblemCode.all.map(\.key)
    #expect(Set(keys).count == keys.count)
  }

  @Test func referencesLeadSomewhere() throws {
    func references(_ value: JSONLiteral) -> [String] {
      switch value {
      case .array(let elements): elements.flatMap(references)
      case .object(let fields):
        fields.flatMap { field -> [String] in
          field.name == "$ref" ? [field.value.plain] : references(field.value)
        }
      default: []
      }
    }
    let all = Set(references(OpenAPIDocument.value))
    #expect(all.count > 20)
    for reference in all { #expect(SchemaValidator.resolve(reference) != nil, "\(reference)") }
    for name in Components.all.map(\.name) {
      #expect(all.contains("#/components/schemas/\(name)"), "\(name) is used nowhere")
    }
  }

  // MARK: Served

  @Test func theDocumentIsServedAndKept() async throws {
    try await API.run { api in
      let answer = try await api.exchange("GET", "/v1/openapi.json")
      #expect(answer.body == OpenAPIDocument.bytes)
      let json = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
      #expect(json?["openapi"] as? String == "3.1.0")
      #expect((json?["paths"] as? [String: Any])?.count == Set(APIOperation.all.map(\.fullPath)).count)
      let tag = try #require(answer.headers["etag"])
      #expect(try await api.exchange("GET", "/v1/openapi.json", headers: ["If-None-Match": tag]).status == 304)
      // A wrong token changes nothing: clients read it before they sign in.
      #expect(try await api.exchange("GET", "/v1/openapi.json", as: "nonsense").status == 200)
    }
  }

  @Test func pagesNameEverythingWithoutAScript() async throws {
    try await API.run { api in
      var text = ""
      for path in ["/docs"] + DocumentPage.names.map({ "/docs/\($0)" }) {
        let page = try await api.exchange("GET", path)
        #expect(page.status == 200, "\(path)")
        #expect(page.headers["content-security-policy"]?.hasPrefix("default-src 'none'; style-src 'self'") == true)
        let html = String(decoding: page.body, as: UTF8.self)
        for word in ["<script", "<style", "style=\"", "onclick", "javascript:", "http-equiv"] {
          #expect(!html.contains(word), "\(path): \(word)")
        }
        text += html
      }
      for operation in APIOperation.all { #expect(text.contains("id=\"\(operation.id)\""), "\(operation.id)") }
      for problem in ProblemCode.all { #expect(text.contains("id=\"\(problem.key)\""), "\(problem.key)") }
      for event in EventDeclaration.all { #expect(text.contains("id=\"event-\(event.name)\""), "\(event.name)") }
      for (name, _) in Components.all { #expect(text.contains("<section id=\"\(name)\">"), "\(name)") }
      #expect(try await api.exchange("GET", "/docs/style.css").headers["content-type"] == "text/css; charset=utf-8")
      #expect(try await api.exchange("GET", "/docs/nothing").status == 404)
    }
  }
}
