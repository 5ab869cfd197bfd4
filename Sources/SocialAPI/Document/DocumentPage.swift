import Social

/// A page of the document for readers: server-rendered, without a script.
struct DocumentPage: Sendable {
  let html: String

  private init(_ title: String, _ content: String) {
    let links = APIOperation.Tag.allCases.map { Self.link("/docs/\($0.rawValue)", $0.title) }
    let more = [Self.link("/docs/types", "Types"), Self.link("/docs/problems", "Problems")]
    let menu = (links + more).map { "<li>\($0)</li>" }.joined(separator: "\n")
    html = """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>\(Self.escaped(title)) · Fanmill API</title>
      <link rel="stylesheet" href="/docs/style.css">
      </head>
      <body>
      <nav aria-label="Chapters">
      <p><a href="/docs">Fanmill API</a></p>
      <ul>
      \(menu)
      </ul>
      </nav>
      <main>
      \(content)
      </main>
      </body>
      </html>

      """
  }

  // MARK: Pages

  static let index: DocumentPage = {
    let chapters = APIOperation.Tag.allCases.map { tag -> String in
      let rows = operations(of: tag).map { operation -> String in
        let place = "/docs/\(tag.rawValue)#\(operation.id)"
        return "<tr><td>\(route(operation, at: place))</td><td>\(inline(operation.summary))</td></tr>"
      }
      return """
        <section>
        <h2>\(link("/docs/\(tag.rawValue)", tag.title))</h2>
        <p>\(inline(tag.summary))</p>
        \(table(["Route", "Summary"], rows))
        </section>
        """
    }
    return DocumentPage(
      "Routes",
      """
      <h1>Fanmill API</h1>
      <p>\(inline(OpenAPIDocument.introduction))</p>
      <p>For programs: \(link("/v1/openapi.json", "/v1/openapi.json")), OpenAPI 3.1.</p>
      <section>
      <h2>Signing in</h2>
      <p>\(inline("`POST /v1/sessions` returns a token, which every request sends as `Authorization: Bearer TOKEN`."))</p>
      <h2>Sending again</h2>
      <p>\(inline(idempotency))</p>
      <h2>Budgets</h2>
      <p>\(inline(budgets))</p>
      </section>
      \(chapters.joined(separator: "\n"))
      """)
  }()

  private static let idempotency = """
    A route that lists `Idempotency-Key` runs once per key: a repeated request gets the first one's answer, so it is \
    safe to repeat after a lost connection or a 503.
    """
  private static let budgets = """
    A route that lists `rate_limited` spends from an hourly budget of the account or, before sign-up, of the client. \
    `RateLimit` says what is left.
    """

  private static let chapters = Dictionary(
    uniqueKeysWithValues: APIOperation.Tag.allCases.map { tag -> (String, DocumentPage) in
      let events = tag == .events ? EventDeclaration.all.map(section).joined(separator: "\n") : ""
      let sections = operations(of: tag).map(section).joined(separator: "\n")
      return (
        tag.rawValue,
        DocumentPage(tag.title, "<h1>\(tag.title)</h1>\n<p>\(inline(tag.summary))</p>\n\(sections)\n\(events)")
      )
    })

  private static let types: DocumentPage = {
    let sections = Components.all.map { name, schema -> String in
      """
      <section id="\(name)">
      <h2>\(name)</h2>
      <p>\(inline(schema.summary))</p>
      \(fields(of: schema))
      \(folded(schema.sample.pretty()))
      </section>
      """
    }
    return DocumentPage("Types", "<h1>Types</h1>\n" + sections.joined(separator: "\n"))
  }()

  private static let problems: DocumentPage = {
    let rows = ProblemCode.all.map { problem in
      """
      <tr id="\(problem.key)"><td class="status">\(problem.status)</td><td><code>\(problem.code)</code></td>\
      <td>\(inline(problem.meaning))</td></tr>
      """
    }
    return DocumentPage(
      "Problems",
      """
      <h1>Problems</h1>
      <p>\(inline("An error is `application/problem+json` (RFC 9457). Programs compare `code`; `detail` is for people."))</p>
      \(fields(of: Components.problem))
      \(table(["Status", "Code", "Meaning"], rows))
      """)
  }()

  /// - Returns: nil if there is no such page.
  static func named(_ name: String) -> DocumentPage? {
    switch name {
    case "types": types
    case "problems": problems
    default: chapters[name]
    }
  }

  static var names: [String] { APIOperation.Tag.allCases.map(\.rawValue) + ["types", "problems"] }

  // MARK: Sections

  private static func operations(of tag: APIOperation.Tag) -> [APIOperation] {
    APIOperation.all.filter { $0.tag == tag }
  }

  private static func section(_ operation: APIOperation) -> String {
    var parts = [
      "<h2>\(escaped(operation.summary))</h2>", "<p>\(route(operation))</p>",
      "<p class=\"quiet\"><code>\(operation.id)</code> · \(inline(operation.access.words))</p>",
    ]
    if let deprecation = operation.deprecation {
      parts.append("<p><strong>Deprecated</strong>: use \(inline("`\(deprecation.successor)`")).</p>")
    }
    if !operation.details.isEmpty { parts.append("<p>\(inline(operation.details))</p>") }
    let parameters = operation.parameters.filter { $0.place != .header } + operation.headers
    if !parameters.isEmpty {
      let rows = parameters.map {
        row(name: $0.name, $0.schema, $0.place == .path ? "path" : "\($0.place.rawValue), optional")
      }
      parts.append("<h3>Parameters</h3>\n" + table(["Name", "Type"], rows))
    }
    if let body = operation.body {
      parts.append("<h3>Body</h3>\n<p>\(inline("`\(body.contentType)`"))</p>\n" + fields(of: body.schema))
    }
    parts.append("<h3>Answers</h3>")
    parts += operation.answers.map { answer($0) }
    if !operation.errors.isEmpty {
      let rows = operation.errors.map { error in
        """
        <tr><td class="status">\(error.status)</td><td><a href="/docs/problems#\(error.key)"><code>\(error.code)</code></a></td>\
        <td>\(inline(error.meaning))</td></tr>
        """
      }
      parts.append("<h3>Problems</h3>\n" + table(["Status", "Code", "Meaning"], rows))
    }
    parts.append("<h3>Example</h3>\n" + code(operation.command))
    return "<section id=\"\(operation.id)\">\n" + parts.joined(separator: "\n") + "\n</section>"
  }

  private static func answer(_ outcome: APIOperation.Outcome) -> String {
    var text = "<p><strong>\(outcome.status)</strong> \(inline(outcome.summary))</p>"
    if !outcome.headers.isEmpty {
      let headers = outcome.headers.map { "<code>\($0.name)</code>: \(inline($0.summary))" }
      text += "\n<p class=\"quiet\">\(headers.joined(separator: " · "))</p>"
    }
    for content in outcome.contents {
      text += "\n<p class=\"quiet\"><code>\(escaped(content.contentType))</code>"
      if content.contentType == "application/json" { text += ", \(type(content.schema))" }
      text += "</p>"
      switch content.sample {
      case .null: break
      case .string(let example) where content.contentType != "application/json": text += "\n" + code(example)
      case let example:
        if case .object = content.schema.form { text += "\n" + fields(of: content.schema) }
        text += "\n" + folded(example.pretty())
      }
    }
    return text
  }

  private static func section(_ event: EventDeclaration) -> String {
    """
    <section id="event-\(event.name)">
    <h2>Event <code>\(event.name)</code></h2>
    <p>\(inline(event.summary))</p>
    \(fields(of: event.schema))
    \(code(event.example))
    </section>
    """
  }

  // MARK: Parts

  private static func fields(of schema: Schema) -> String {
    guard !schema.properties.isEmpty else { return "" }
    let rows = schema.properties.map { row(name: $0.name, $0.schema, place($0)) }
    return table(["Field", "Type"], rows)
  }

  private static func place(_ property: Schema.Property) -> String {
    [property.isRequired ? nil : "optional", property.schema.isDeprecated ? "deprecated" : nil].compactMap(\.self)
      .joined(separator: ", ")
  }

  private static func row(name: String, _ schema: Schema, _ place: String) -> String {
    let summary = schema.summary.isEmpty ? "" : "<br>\(inline(schema.summary))"
    return """
      <tr><td><code class="name">\(escaped(name))</code> <span class="quiet">\(place)</span></td>\
      <td><span class="quiet">\(type(schema))</span>\(summary)</td></tr>
      """
  }

  /// The words for a type, with a link to the named one.
  private static func type(_ schema: Schema) -> String {
    let words = escaped(schema.words)
    guard let name = schema.name else { return words }
    return words.replacing(name, with: link("/docs/types#\(name)", name), maxReplacements: 1)
  }

  private static func route(_ operation: APIOperation, at place: String? = nil) -> String {
    let path = "<code>\(escaped(operation.fullPath))</code>"
    let method = operation.method.rawValue
    let shown = place.map { "<a href=\"\($0)\">\(path)</a>" } ?? path
    return "<span class=\"method \(method.lowercased())\">\(method)</span> \(shown)"
  }

  private static func table(_ heads: [String], _ rows: [String]) -> String {
    let head = heads.map { "<th scope=\"col\">\($0)</th>" }.joined()
    return "<div class=\"table\"><table><thead><tr>\(head)</tr></thead>\n<tbody>\n"
      + rows.joined(separator: "\n") + "\n</tbody></table></div>"
  }

  /// A long example opens on request.
  private static func folded(_ text: String) -> String {
    let isLong = text.count { $0 == "\n" } > 12
    return isLong ? "<details><summary>Example</summary>\n\(code(text))\n</details>" : code(text)
  }

  private static func code(_ text: String) -> String { "<pre tabindex=\"0\"><code>\(escaped(text))</code></pre>" }
  private static func link(_ place: String, _ text: String) -> String { "<a href=\"\(place)\">\(escaped(text))</a>" }

  private static func escaped(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { CardDrawing.escaped(String($0)) }
      .joined(separator: "\n")
  }

  /// Escapes a sentence, in which backticks surround code.
  private static func inline(_ text: String) -> String {
    let parts = text.split(separator: "`", omittingEmptySubsequences: false).map { escaped(String($0)) }
    return parts.enumerated().map { $0.offset.isMultiple(of: 2) ? $0.element : "<code>\($0.element)</code>" }.joined()
  }
}

extension APIOperation.Access {
  fileprivate var words: String {
    switch self {
    case .none: "Needs no session."
    case .session: "Needs a session."
    case .uploader: "Needs a session, or an `Upload-Token`."
    case .operators: "Needs an operators' token."
    case .admin: "Needs the operators' token with write access."
    }
  }
}

extension Schema {
  /// The named schema in it, if there is one.
  fileprivate var name: String? {
    switch form {
    case .named(let name): name
    case .array(let element, _): element.name
    default: nil
    }
  }
}

extension APIOperation {
  /// The path and query of the example.
  var examplePath: String {
    var path = fullPath
    for parameter in parameters where parameter.place == .path {
      path = path.replacing("{\(parameter.name)}", with: parameter.schema.sample.plain)
    }
    let query = parameters.filter { $0.place == .query }.compactMap { parameter -> String? in
      guard parameter.name != "before", let example = parameter.schema.example else { return nil }
      return "\(parameter.name)=\(example.plain.replacing(" ", with: "%20").replacing("@", with: "%40"))"
    }
    return query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
  }

  /// The example as a curl command.
  var command: String {
    var lines = ["curl"]
    switch method {
    case .get: break
    case .head: lines[0] += " --head"
    default: lines[0] += " -X \(method.rawValue)"
    }
    switch access {
    case .none: break
    case .session, .uploader: lines.append("-H \"Authorization: Bearer $TOKEN\"")
    case .operators, .admin: lines.append("-H \"Authorization: Bearer $FANMILL_ADMIN_TOKEN\"")
    }
    if isIdempotent { lines.append("-H 'Idempotency-Key: 4b6f2a9e-7c1d'") }
    if let body {
      switch body.contentType {
      case "application/json":
        lines.append("-H 'Content-Type: application/json'")
        lines.append("-d '\(body.sample.text.replacing("'", with: "'\\''"))'")
      default:
        lines.append("-H 'Content-Type: image/jpeg'")
        lines.append("--data-binary @picture.jpg")
      }
    }
    lines.append("'http://localhost:8080\(examplePath)'")
    return lines.joined(separator: " \\\n  ")
  }
}
