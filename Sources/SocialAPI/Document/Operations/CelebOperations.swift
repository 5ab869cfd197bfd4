import Social

extension APIOperation.Parameter {
  static let rankedBy = query(
    "by", .values(RankingKey.Measure.allCases.map(\.rawValue)).saying("`hearts` without it."))
  static let window = query(
    "window", .values(RankingKey.Window.allCases.map(\.rawValue)).saying("`all` without it.", example: "all"))
}

extension APIOperation {
  static let readCeleb = APIOperation(
    id: "readCeleb", method: .get, path: "celebs/{platform}/{account}", tag: .celebs,
    summary: "Returns a celeb's page.",
    parameters: .celeb, outcomes: [.json(200, .named("CelebProfile"), "The page.")], codes: [.notFound],
    isConditional: true)

  static let listCelebs = APIOperation(
    id: "listCelebs", method: .get, path: "me/celebs", tag: .celebs, summary: "Lists the caller's celebs by position.",
    parameters: .part, outcomes: [.page(.named("Celeb"))], isConditional: true)

  static let registerCeleb = APIOperation(
    id: "registerCeleb", method: .put, path: "me/celebs/{platform}/{account}", tag: .celebs,
    summary: "Adds a celeb to the caller's list.", parameters: .celeb,
    outcomes: [.json(200, .named("Celeb"), "The celeb; unchanged if it was on the list.")],
    codes: [.notFound, .celebLimit])

  static let editCeleb = APIOperation(
    id: "editCeleb", method: .patch, path: "me/celebs/{platform}/{account}", tag: .celebs,
    summary: "Changes a registered celeb's note or position.", parameters: .celeb,
    body: .json(
      .object(
        .optional("note", .text(0...500), "Empty to remove it.", example: "since school"),
        .optional("position", .integer(1...Int.max), "In the list; past the end means the end.", example: 1))),
    outcomes: [.json(200, .named("Celeb"), "The changed celeb.")], codes: [.celebNotRegistered])

  static let removeCeleb = APIOperation(
    id: "removeCeleb", method: .delete, path: "me/celebs/{platform}/{account}", tag: .celebs,
    summary: "Removes a celeb from the caller's list.", parameters: .celeb, outcomes: [.noContent])

  static let replaceCeleb = APIOperation(
    id: "replaceCeleb", method: .post, path: "me/celebs/{platform}/{account}/replace", tag: .celebs,
    summary: "Replaces a celeb on the caller's list with another, in one step.", parameters: .celeb,
    body: .json(
      .object(
        .required(
          "platform", .oneOf(.values("youtube", "instagram"), .integer(0...1)), "By name or number.",
          example: "instagram"),
        .required("account", .celebAccount, example: "another.artist"))),
    outcomes: [.json(200, .named("Celeb"), "The new celeb.")],
    codes: [.celebNotRegistered, .celebRegistered, .celebLimit], isIdempotent: true)

  static let giveHeart = APIOperation(
    id: "giveHeart", method: .post, path: "me/celebs/{platform}/{account}/hearts", tag: .celebs,
    summary: "Gives a registered celeb a heart.", details: "One every ten minutes.", parameters: .celeb,
    outcomes: [
      .json(
        201,
        .object(
          .required("count", .count, "Hearts given since registration.", example: 1),
          .required("nextAt", .date, "When the next one is possible.")),
        "The heart counts.")
    ], codes: [.celebNotRegistered, .heartTooSoon, .bodyTooLarge], isIdempotent: true)

  // MARK: Search

  static let searchChannels = APIOperation(
    id: "searchChannels", method: .get, path: "celebs/search", tag: .celebs, summary: "Finds channels on YouTube.",
    details: "Answers from stored data if it can; else it begins a lookup.",
    parameters: [
      .query("platform", .platform.saying("`youtube`.", example: "youtube"), .unknownPlatform, .searchUnsupported),
      .query("q", .text(1...200).saying("An id, a handle, an address, or words.", example: "an artist")),
      .query("more", .boolean.saying("Whether to ask YouTube although an answer is stored.")),
    ] + .part,
    outcomes: [
      .json(
        200,
        .object(
          .required("items", .array(.named("Channel"))),
          .nullable("next", .cursor, "`before` of the next page; null at the end.", example: .null),
          .required("more", .boolean, "Whether YouTube may know more.", example: true)),
        "What is stored."),
      .json(202, .object(.required("lookup", .uuid)), "A lookup has begun: `GET /v1/lookups/ID`."),
    ], codes: [.quotaExhausted, .lookupShareSpent, .lookupsUnavailable], isBudgeted: true)

  static let readLookup = APIOperation(
    id: "readLookup", method: .get, path: "lookups/{id}", tag: .celebs, summary: "Returns a lookup.",
    parameters: [.path("id", .uuid, .notFound)], outcomes: [.json(200, .named("Lookup"), "The lookup.")])

  // MARK: Rankings

  static let readRanking = APIOperation(
    id: "readRanking", method: .get, path: "rankings/{platform}", tag: .rankings, summary: "Returns a ranking.",
    details: "The pages of one reading come from one snapshot.", parameters: [.platform, .rankedBy, .window] + .page,
    outcomes: [.json(200, .named("Ranking"), "A page of the ranking.")], isConditional: true)

  static let readHistory = APIOperation(
    id: "readHistory", method: .get, path: "celebs/{platform}/{account}/history", tag: .rankings,
    summary: "Returns a celeb's rank by day, latest first.", details: "The days on which the celeb was listed.",
    parameters: .celeb + [.rankedBy, .window] + .part, outcomes: [.page(.named("RankPoint"))], codes: [.notFound],
    isConditional: true)

  // MARK: Certificates

  static let issueCertificate = APIOperation(
    id: "issueCertificate", method: .get, path: "me/celebs/{platform}/{account}/certificate", tag: .certificates,
    summary: "Issues a certificate that the account is a fan.", parameters: .celeb,
    outcomes: [
      .json(
        200, .object(.required("token", .jws), .required("certificate", .named("Certificate"))),
        "The certificate.")
    ], codes: [.celebNotRegistered, .certificatesOff])

  private static let certificate = Parameter.path(
    "token", .jws.saying("The certificate."), .forgedCertificate, .malformedCertificate, .certificateRevoked)

  static let checkCertificate = APIOperation(
    id: "checkCertificate", method: .get, path: "certificates/{token}", tag: .certificates,
    summary: "Returns what a certificate states.", details: "A page for clients that ask for HTML.", access: .none,
    parameters: [certificate, .header("Accept", .text.saying("`text/html` for a page."))],
    outcomes: [
      Outcome(
        status: 200, summary: "The certificate is genuine.",
        contents: [
          .json(.object(.required("valid", .boolean, example: true), .required("certificate", .named("Certificate")))),
          Body(contentType: "text/html", schema: .text, example: .null),
        ])
    ], codes: [.certificatesOff], answersPages: true)

  private static func card(_ id: String, _ form: String, _ contentType: String) -> APIOperation {
    APIOperation(
      id: id, method: .get, path: "certificates/{token}/card.\(form)", tag: .certificates,
      summary: "Returns a certificate's card as \(form.uppercased()).", details: "1200 × 630, with a QR code.",
      access: .none, parameters: [certificate, .header("If-None-Match", .text)],
      outcomes: [
        Outcome(
          status: 200, summary: "The card.",
          contents: [Body(contentType: contentType, schema: .binary, example: .null)],
          headers: [.eTag, .cacheControl]),
        .empty(202, "It is being drawn.", headers: [.retryAfter]), .empty(304, "The client has it.", headers: [.eTag]),
      ])
  }

  static let showSVGCard = card("showSVGCard", "svg", "image/svg+xml")
  static let showPNGCard = card("showPNGCard", "png", "image/png")

  static let listKeys = APIOperation(
    id: "listKeys", method: .get, path: "/.well-known/jwks.json", tag: .certificates,
    summary: "Returns the keys that verify certificates and receipts.", details: "A JWK set (RFC 7517, RFC 8037).",
    access: .none,
    outcomes: [
      Outcome(
        status: 200, summary: "The keys.",
        contents: [
          Body(
            contentType: "application/jwk-set+json",
            schema: .object(
              .required(
                "keys",
                .array(
                  .object(
                    .required("kty", .values("OKP")), .required("crv", .values("Ed25519")),
                    .required("alg", .values("EdDSA")), .required("use", .values("sig")),
                    .required("kid", .text, example: "k1"), .required("x", .bytes(32)))))))
        ], headers: [.cacheControl])
    ])

  // MARK: Purchases

  static let takePurchaseNotice = APIOperation(
    id: "takePurchaseNotice", method: .post, path: "purchases", tag: .purchases, summary: "Takes a store's notice.",
    details: "The signature authenticates the sender. Takes either field.", access: .none,
    body: .json(
      .object(
        .optional("notice", .jws, "A JWS with HS256.", example: Schema.jws.sample),
        .optional("signedPayload", .jws, "As Apple sends it."))),
    outcomes: [
      .json(
        200,
        .object(.required("outcome", .values("granted", "refunded", "restored", "unchanged", "ignored"))),
        "What it did.")
    ],
    codes: [
      .purchasesOff, .malformedNotice, .forgedNotice, .notFound, .receiptTaken, .invalid("type"), .invalid("at"),
      .invalid("receipt"), .invalid("celebs"), .invalid("product"),
    ])

  static let listPurchases = APIOperation(
    id: "listPurchases", method: .get, path: "me/purchases", tag: .purchases, summary: "Lists the caller's purchases.",
    parameters: .part,
    outcomes: [
      .json(
        200,
        .object(
          .required("token", .uuid, "What the app passes to the store as `appAccountToken`."),
          .required("celebs", .integer, "How many celebs the account may register.", example: 3),
          .required("items", .array(.named("Purchase"))),
          .nullable("next", .cursor, "`before` of the next page; null at the end.", example: .null)),
        "The purchases, newest first.")
    ], codes: [.notFound])
}
