/// The declaration of a route. The router registers the route under it, and the API's document is made from it.
struct APIOperation: Sendable {
  enum Method: String, Sendable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
  }

  /// The credentials that the route needs.
  enum Access: Sendable {
    case none
    case session
    /// A session, or a token for one picture before sign-up.
    case uploader
    /// Either operators' token.
    case operators
    /// The operators' token with write access.
    case admin
  }

  struct Parameter: Sendable {
    enum Place: String, Sendable { case path, query, header }

    let place: Place
    let name: String
    let schema: Schema
    /// What the route answers to a value that is not valid.
    let errors: [ProblemCode]
  }

  struct Body: Sendable {
    var contentType = "application/json"
    let schema: Schema
    /// Nil to compose one from the schema.
    var example: JSONLiteral?

    var sample: JSONLiteral { example ?? schema.sample }
  }

  /// An answer that is no problem.
  struct Outcome: Sendable {
    let status: Int
    let summary: String
    var contents: [Body] = []
    var headers: [Header] = []
  }

  struct Header: Sendable {
    let name: String
    let summary: String
  }

  /// Unique; a name for generated clients.
  let id: String
  let method: Method
  /// Below `/v1`; from the root if it begins with a slash. A parameter is `{name}`.
  let path: String
  let tag: Tag
  /// One sentence.
  let summary: String
  var details = ""
  var access = Access.session
  var parameters: [Parameter] = []
  var body: Body?
  var outcomes: [Outcome]
  /// The codes that no rule of `errors` adds.
  var codes: [ProblemCode] = []
  /// Whether an `Idempotency-Key` makes it run once.
  var isIdempotent = false
  /// Whether it spends from an hourly budget.
  var isBudgeted = false
  /// Whether its 200 has an `ETag`, and a request that names it in `If-None-Match` gets a 304.
  var isConditional = false
  /// Whether clients that ask for HTML get problems as pages.
  var answersPages = false
  /// Nil unless the route will go.
  var deprecation: Deprecation?

  /// The end of a route that a later version drops.
  struct Deprecation: Sendable {
    /// Seconds since 1970.
    let since: Int
    /// Where its users go instead.
    let successor: String
  }

  var fullPath: String { path.hasPrefix("/") ? path : "/v1/\(path)" }

  /// Whether a session's token is checked wherever one is sent.
  private var readsSession: Bool { !path.hasPrefix("/") && tag != .document }

  /// All codes, by status.
  var errors: [ProblemCode] {
    var errors = codes + parameters.flatMap(\.errors)
    if readsSession { errors.append(.notSignedIn) }
    switch access {
    case .admin: errors += [.adminOnly, .readOnly, .tooManyAttempts]
    case .operators: errors += [.adminOnly, .tooManyAttempts]
    case .none, .session, .uploader: break
    }
    if let body {
      errors += [.malformedBody, .bodyTooLarge]
      if body.contentType == "application/json" { errors += body.schema.properties.map { .invalid($0.name) } }
    }
    if isIdempotent { errors.append(.idempotencyKeyReused) }
    if method == .post { errors.append(.invalid("Idempotency-Key")) }
    if isBudgeted { errors.append(.rateLimited) }
    // Reads may write too, such as a page of a feed that wakes its reader.
    if tag != .document { errors += [.internalError, .unavailable, .storageFull] }
    if tag != .operators, parameters.contains(where: { $0.place == .path && $0.name == "name" }) {
      errors.append(method == .get ? .moved : .movedPermanently)
    }
    var seen: Set<ProblemCode> = []
    return errors.filter { seen.insert($0).inserted }.sorted { ($0.status, $0.code) < ($1.status, $1.code) }
  }

  /// The request's headers, with those that the rules add.
  var headers: [Parameter] {
    var headers = parameters.filter { $0.place == .header }
    if method == .post { headers.append(isIdempotent ? .idempotencyKey : .spareIdempotencyKey) }
    if isConditional { headers.append(.ifNoneMatch) }
    return headers
  }

  /// The outcomes, with those that the rules add.
  var answers: [Outcome] {
    var answers = outcomes
    if isConditional {
      for index in answers.indices where answers[index].status == 200 { answers[index].headers.append(.eTag) }
      answers.append(.empty(304, "The client has it.", headers: [.eTag]))
    }
    if deprecation != nil {
      for index in answers.indices { answers[index].headers.append(.deprecation) }
    }
    return answers
  }
}

// MARK: Parts

extension APIOperation.Parameter {
  static func path(_ name: String, _ schema: Schema, _ errors: ProblemCode...) -> Self {
    Self(place: .path, name: name, schema: schema, errors: errors)
  }

  /// A value that is not valid is answered with `invalid_NAME`, unless `errors` say otherwise.
  static func query(_ name: String, _ schema: Schema, _ errors: ProblemCode...) -> Self {
    Self(place: .query, name: name, schema: schema, errors: errors.isEmpty ? [.invalid(name)] : errors)
  }

  static func header(_ name: String, _ schema: Schema, _ errors: ProblemCode...) -> Self {
    Self(place: .header, name: name, schema: schema, errors: errors)
  }

  static let idempotencyKey = header(
    "Idempotency-Key",
    .text(1...255).saying(
      "Makes the request run once: a repeated request with the same key gets the first one's answer.",
      example: "4b6f2a9e-7c1d"))

  static let spareIdempotencyKey = header(
    "Idempotency-Key",
    .text(1...255).saying("Without effect: a repeated request does no harm.", example: "4b6f2a9e-7c1d"))

  static let ifNoneMatch = header(
    "If-None-Match", .text.saying("The `ETag` of what the client has.", example: .null))

  static let cookieSession = header(
    "Fanmill-Session",
    .values(["cookie"]).saying("Keeps the token in a cookie of the browser (`Set-Cookie`), and out of the answer."))

  static let before = query("before", .cursor.saying("`next` of the page before."))
  static let limit = query("limit", .integer(1...100).saying("The most items of the page; 20 without it.", example: 20))
  static let username = path("name", .username, .notFound)
  static let platform = path("platform", .platform, .unknownPlatform)
  static let account = path("account", .celebAccount, .invalid("account"))
}

extension [APIOperation.Parameter] {
  /// The parameters of a list that comes in pages.
  static let page: Self = [.before, .limit]
  /// Those of a short list, which comes whole unless the client asks for pages.
  static let part: Self = [
    .before, .query("limit", .integer(1...100).saying("The most items of the page; all without it.", example: 20)),
  ]
  /// The path of a celeb.
  static let celeb: Self = [.platform, .account]
}

extension APIOperation.Outcome {
  static func json(_ status: Int, _ schema: Schema, _ summary: String = "", example: JSONLiteral? = nil) -> Self {
    let body = APIOperation.Body(schema: schema, example: example)
    return Self(status: status, summary: summary.isEmpty ? schema.words : summary, contents: [body])
  }

  static func empty(_ status: Int, _ summary: String, headers: [APIOperation.Header] = []) -> Self {
    Self(status: status, summary: summary, headers: headers)
  }

  static let noContent = empty(204, "It is done; the answer has no body.")

  /// A page of a list.
  static func page(_ item: Schema) -> Self {
    json(200, .page(of: item), "A page of the list.")
  }
}

extension APIOperation.Body {
  static func json(_ schema: Schema, example: JSONLiteral? = nil) -> Self {
    Self(schema: schema, example: example)
  }
}

extension APIOperation.Header {
  static let retryAfter = Self(name: "Retry-After", summary: "Seconds after which the request can be repeated.")
  static let eTag = Self(name: "ETag", summary: "The version, for If-None-Match.")
  static let deprecation = Self(
    name: "Deprecation", summary: "When the route was deprecated (RFC 9745); `Link` names its successor.")
  static let contentRange = Self(name: "Content-Range", summary: "Which bytes of how many.")
  static let location = Self(name: "Location", summary: "A signed address.")
  static let cacheControl = Self(name: "Cache-Control", summary: "How long the answer may be kept.")
  static let rateLimit = Self(name: "RateLimit", summary: "`\"NAME\";r=LEFT;t=SECONDS`: what is left of the budget.")
  static let rateLimitPolicy = Self(name: "RateLimit-Policy", summary: "`\"NAME\";q=LIMIT;w=3600`: the hourly budget.")
}
