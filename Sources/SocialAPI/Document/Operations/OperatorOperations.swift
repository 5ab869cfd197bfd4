extension APIOperation {
  static let enqueueJob = APIOperation(
    id: "enqueueJob", method: .post, path: "jobs/{name}", tag: .operators, summary: "Enqueues a job.",
    details: "`uniqueKey` makes the request repeatable; an Idempotency-Key belongs to an account.", access: .admin,
    parameters: [.path("name", .text.saying("The job's kind.", example: "posts.fan-out"))],
    body: .json(
      .object(
        .required("payload", .any, "Of the kind."), .optional("queue", .text),
        .optional("runAt", .text(format: "date-time"), example: "2100-01-01T00:00:00Z"),
        .optional("priority", .values("high", "normal", "low")), .optional("uniqueKey", .text(1...200)))),
    outcomes: [
      .json(
        202, .object(.required("id", .text, example: "0193f2a0-0000-7000-8000-000000000001")), "The job is pending.")
    ], codes: [.unknownKind, .invalid("request"), .alreadyPending])

  static let readJob = APIOperation(
    id: "readJob", method: .get, path: "jobs/{name}", tag: .operators, summary: "Returns a job.", access: .operators,
    parameters: [
      .path("name", .text.saying("The job's id.", example: "0193f2a0-0000-7000-8000-000000000001"), .notFound)
    ],
    outcomes: [.json(200, .named("JobDetail"), "The job.")], codes: [.invalid("request")])

  static let readAutoscaling = APIOperation(
    id: "readAutoscaling", method: .get, path: "autoscaling/{queue}", tag: .operators,
    summary: "Returns how many workers a queue needs.", details: "For scalers such as KEDA's metrics-api.",
    access: .operators, parameters: [.path("queue", .text.saying("The queue.", example: "fanout"), .unknownQueue)],
    outcomes: [
      .json(
        200,
        .object(
          .required("queue", .text, example: "fanout"), .required("workers", .count, "Needed.", example: 2),
          .required("serving", .count, "Running."), .required("ready", .count, "Waiting jobs.", example: 120),
          .required("arrivalRate", .number, "Jobs a second.", example: 40.5),
          .nullable("runTime", .number, "Seconds; null until a job has finished.", example: 0.05),
          .required("sampledAt", .date)),
        "The need.")
    ], codes: [.notSampled])

  // MARK: The document

  static let readDocument = APIOperation(
    id: "readDocument", method: .get, path: "openapi.json", tag: .document, summary: "Returns this document.",
    details: "OpenAPI 3.1.", access: .none, parameters: [.header("If-None-Match", .text)],
    outcomes: [
      Outcome(
        status: 200, summary: "The document.",
        contents: [Body(schema: .any, example: ["openapi": "3.1.0"])], headers: [.eTag, .cacheControl]),
      .empty(304, "The client has it.", headers: [.eTag]),
    ])

  private static func page(_ id: String, _ path: String, _ summary: String, _ parameters: [Parameter] = [])
    -> APIOperation
  {
    APIOperation(
      id: id, method: .get, path: path, tag: .document, summary: summary, access: .none, parameters: parameters,
      outcomes: [
        Outcome(
          status: 200, summary: "The page.",
          contents: [Body(contentType: "text/html", schema: .text, example: .null)], headers: [.cacheControl])
      ])
  }

  static let showDocs = page("showDocs", "/docs", "Shows this document's chapters.")
  static let showDocsPage = page(
    "showDocsPage", "/docs/{page}", "Shows a chapter of this document.",
    [.path("page", .text.saying("`types`, `problems`, or a chapter.", example: "posts"), .notFound)])

  static let showDocsStyle = APIOperation(
    id: "showDocsStyle", method: .get, path: "/docs/style.css", tag: .document, summary: "Returns the pages' style.",
    access: .none,
    outcomes: [
      Outcome(
        status: 200, summary: "The style sheet.",
        contents: [Body(contentType: "text/css", schema: .text, example: .null)], headers: [.cacheControl])
    ])
}
