/// The API's document: OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.0), made once from the routes' declarations.
enum OpenAPIDocument {
  /// The version of the interface, which `/v1` names. Fields may be added within it.
  static let version = "1.0.0"

  static let bytes: [UInt8] = {
    var json = JSONBytes()
    json.literal(value)
    return json.bytes
  }()

  static let value: JSONLiteral = .fields([
    ("openapi", "3.1.0"),
    (
      "info",
      [
        "title": "Fanmill", "version": .string(version), "description": .string(introduction),
        "license": ["name": "Apache-2.0", "identifier": "Apache-2.0"],
      ]
    ),
    ("servers", [["url": "/"]]),
    ("tags", .array(APIOperation.Tag.allCases.map(tag))),
    ("paths", paths),
    ("components", components),
    ("x-events", .array(EventDeclaration.all.map(event))),
  ])

  static let introduction = """
    A backend for follower and fan apps. Bodies are JSON in UTF-8, and times are ISO 8601 in UTC. Lists come in pages: \
    `{"items": […], "next": CURSOR}`, with `?before=CURSOR&limit=N`. An error is `application/problem+json` with a \
    stable `code`; a 503 without `Retry-After` lasts, because the server's operator has turned something off. A \
    POST may be repeated with the same `Idempotency-Key`, and does its work once. Whoever holds an answer with an \
    `ETag` may send the tag as `If-None-Match`, and gets a 304 while it is current. `RateLimit` states what is left of \
    an hourly budget, and `Deprecation` that a route will go. Clients must accept fields that they do not know.
    """

  private static func tag(_ tag: APIOperation.Tag) -> JSONLiteral {
    ["name": .string(tag.rawValue), "x-displayName": .string(tag.title), "description": .string(tag.summary)]
  }

  private static func event(_ event: EventDeclaration) -> JSONLiteral {
    [
      "event": .string(event.name), "description": .string(event.summary), "hasId": .bool(event.hasID),
      "data": event.schema.json, "example": event.schema.sample,
    ]
  }

  // MARK: Paths

  private static var paths: JSONLiteral {
    var names: [String] = []
    var operations: [String: [APIOperation]] = [:]
    for operation in APIOperation.all {
      if operations[operation.fullPath] == nil { names.append(operation.fullPath) }
      operations[operation.fullPath, default: []].append(operation)
    }
    return .object(
      names.map { name in
        let fields = (operations[name] ?? []).map { operation in
          JSONLiteral.Field(name: operation.method.rawValue.lowercased(), value: json(operation))
        }
        return JSONLiteral.Field(name: name, value: .object(fields))
      })
  }

  private static func json(_ operation: APIOperation) -> JSONLiteral {
    let parameters = operation.parameters.filter { $0.place != .header } + operation.headers
    let details = operation.details.isEmpty ? operation.summary : "\(operation.summary) \(operation.details)"
    return .fields([
      ("operationId", .string(operation.id)),
      ("tags", [.string(operation.tag.rawValue)]),
      ("summary", .string(operation.summary)),
      ("description", .string(details)),
      ("deprecated", operation.deprecation == nil ? nil : true),
      ("security", security(operation.access)),
      ("parameters", parameters.isEmpty ? nil : .array(parameters.map(parameter))),
      ("requestBody", operation.body.map(body)),
      ("responses", responses(operation)),
    ])
  }

  private static func security(_ access: APIOperation.Access) -> JSONLiteral {
    switch access {
    case .none: []
    case .session: [["session": []], ["cookie": []]]
    case .uploader: [["session": []], ["cookie": []], ["uploadToken": []]]
    case .operators: [["operator": []], ["operatorReadOnly": []]]
    case .admin: [["operator": []]]
    }
  }

  private static func parameter(_ parameter: APIOperation.Parameter) -> JSONLiteral {
    // The description belongs to the parameter.
    var schema = parameter.schema
    schema.summary = ""
    let isRequired = parameter.place == .path
    return .fields([
      ("name", .string(parameter.name)),
      ("in", .string(parameter.place.rawValue)),
      ("description", parameter.schema.summary.isEmpty ? nil : .string(parameter.schema.summary)),
      ("required", isRequired ? true : nil),
      ("schema", schema.json),
      ("example", isRequired ? parameter.schema.sample : parameter.schema.example.flatMap { $0 == .null ? nil : $0 }),
    ])
  }

  private static func body(_ body: APIOperation.Body) -> JSONLiteral {
    ["required": true, "content": content([body])]
  }

  private static func content(_ bodies: [APIOperation.Body]) -> JSONLiteral {
    .object(
      bodies.map { body in
        let media: JSONLiteral = .fields([
          ("schema", body.schema.json), ("example", body.sample == .null ? nil : body.sample),
        ])
        return JSONLiteral.Field(name: body.contentType, value: media)
      })
  }

  // MARK: Responses

  private static func responses(_ operation: APIOperation) -> JSONLiteral {
    var responses: [(String, JSONLiteral?)] = operation.answers.map { ("\($0.status)", json($0, of: operation)) }
    var statuses: [Int] = []
    for error in operation.errors where statuses.last != error.status { statuses.append(error.status) }
    for status in statuses {
      responses.append(("\(status)", problem(operation.errors.filter { $0.status == status }, operation)))
    }
    responses.append(("default", ["$ref": "#/components/responses/Problem"]))
    return .fields(responses)
  }

  private static func json(_ outcome: APIOperation.Outcome, of operation: APIOperation) -> JSONLiteral {
    let headers = outcome.headers + (operation.isBudgeted ? [.rateLimit, .rateLimitPolicy] : [])
    return .fields([
      ("description", .string(outcome.summary)),
      ("headers", json(headers)),
      ("content", outcome.contents.isEmpty ? nil : content(outcome.contents)),
    ])
  }

  private static func json(_ headers: [APIOperation.Header]) -> JSONLiteral? {
    if headers.isEmpty { return nil }
    return .object(
      headers.map { header in
        let value: JSONLiteral = ["description": .string(header.summary), "schema": ["type": "string"]]
        return JSONLiteral.Field(name: header.name, value: value)
      })
  }

  /// The response of one status. That of a single code is shared.
  private static func problem(_ errors: [ProblemCode], _ operation: APIOperation) -> JSONLiteral {
    if let error = errors.first, errors.count == 1, !operation.answersPages {
      return ["$ref": .string("#/components/responses/\(error.key)")]
    }
    return problem(errors, alsoAsPage: operation.answersPages)
  }

  private static func problem(_ errors: [ProblemCode], alsoAsPage: Bool = false) -> JSONLiteral {
    let meanings = errors.map { "`\($0.code)`: \($0.meaning)" }.joined(separator: "\n\n")
    let media: JSONLiteral = .fields([
      ("schema", ["$ref": "#/components/schemas/Problem"]), ("example", errors.first?.example),
    ])
    var content: [JSONLiteral.Field] = [JSONLiteral.Field(name: "application/problem+json", value: media)]
    if alsoAsPage { content.append(JSONLiteral.Field(name: "text/html", value: ["schema": ["type": "string"]])) }
    return .fields([
      ("description", .string(meanings)), ("headers", json(errors.flatMap(\.headers).uniqued)),
      ("content", .object(content)),
      // Not in the schema: a generated client must read a code that a later version adds.
      ("x-codes", .array(errors.map { .string($0.code) })),
    ])
  }

  // MARK: Components

  private static var components: JSONLiteral {
    let schemas = Components.all.map { JSONLiteral.Field(name: $0.name, value: $0.schema.json) }
    let problems = ProblemCode.all.map { JSONLiteral.Field(name: $0.key, value: problem([$0])) }
    let anyProblem: JSONLiteral = [
      "description": "Any other problem.",
      "content": ["application/problem+json": ["schema": ["$ref": "#/components/schemas/Problem"]]],
    ]
    return [
      "schemas": .object(schemas),
      "responses": .object(problems + [JSONLiteral.Field(name: "Problem", value: anyProblem)]),
      "securitySchemes": [
        "session": [
          "type": "http", "scheme": "bearer", "description": "A session's token: `POST /v1/sessions` returns one.",
        ],
        "cookie": [
          "type": "apiKey", "in": "cookie", "name": "fanmill_session",
          "description": """
          The same token, for browsers: a session that was opened with the header `Fanmill-Session: cookie`. \
          `__Host-fanmill_session` on a server with TLS.
          """,
        ],
        "uploadToken": [
          "type": "apiKey", "in": "header", "name": "Upload-Token",
          "description": "For one picture before sign-up: `POST /v1/media/tokens` returns one.",
        ],
        "operator": ["type": "http", "scheme": "bearer", "description": "`FANMILL_ADMIN_TOKEN`."],
        "operatorReadOnly": ["type": "http", "scheme": "bearer", "description": "`FANMILL_ADMIN_READ_TOKEN`."],
      ],
    ]
  }
}

extension ProblemCode {
  /// The codes of all routes, and of requests that reach none, by status.
  static let all: [ProblemCode] = {
    var seen: Set<ProblemCode> = []
    return ([.malformedRequest, .requestTimeout, .tooManyConnections, .noRoom] + APIOperation.all.flatMap(\.errors))
      .filter { seen.insert($0).inserted }
      .sorted { ($0.status, $0.code) < ($1.status, $1.code) }
  }()

  /// Its name among the document's responses: some codes have two statuses.
  var key: String { ["moved", "storage_full", "too_many_connections"].contains(code) ? "\(code)_\(status)" : code }

  /// The problem in the form that clients get.
  var example: JSONLiteral {
    var fields: [(String, JSONLiteral?)] = [
      ("type", "about:blank"), ("title", .string(Self.titles[status] ?? "Error")), ("status", .integer(status)),
      ("code", .string(code)), ("detail", .string(meaning)),
    ]
    if code.hasPrefix("invalid_") { fields.append(("field", .string(String(code.dropFirst("invalid_".count))))) }
    if code == "moved" { fields.append(("username", "anna")) }
    return .fields(fields)
  }

  /// The response headers that come with it.
  var headers: [APIOperation.Header] {
    switch status {
    case 301, 308: [APIOperation.Header(name: "Location", summary: "The same path under the current name.")]
    case 401: [APIOperation.Header(name: "WWW-Authenticate", summary: "`Bearer`.")]
    case 429 where code == "rate_limited": [.retryAfter, .rateLimit, .rateLimitPolicy]
    case 429: [.retryAfter]
    case 503, 507: isLasting ? [] : [.retryAfter]
    default: []
    }
  }

  /// Whether only the server's operator can change it.
  private var isLasting: Bool {
    [Self.mailNotConfigured, .agreementsOff, .certificatesOff, .purchasesOff].contains(self)
  }

  private static let titles = [
    301: "Moved Permanently", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 408: "Request Timeout", 409: "Conflict", 410: "Gone", 413: "Content Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Content", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
    507: "Insufficient Storage",
  ]
}

extension [APIOperation.Header] {
  /// Each name once.
  fileprivate var uniqued: Self {
    var names: Set<String> = []
    return filter { names.insert($0.name).inserted }
  }
}
