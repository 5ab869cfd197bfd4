import Social

extension APIOperation {
  private static let picture = Parameter.path("id", .mediaID, .notFound)
  private static let formats = ["image/webp", "image/jpeg"].map {
    Body(contentType: $0, schema: .binary, example: .null)
  }

  static let uploadPicture = APIOperation(
    id: "uploadPicture", method: .post, path: "media", tag: .pictures, summary: "Uploads a picture.",
    details: """
      The body is the picture, or one file as `multipart/form-data`; at most 10 MB, 40 million pixels. JPEG, PNG, WebP, \
      GIF and HEIC are accepted; the bytes decide, not the Content-Type.
      """,
    access: .uploader,
    parameters: [
      .header("Upload-Token", .token.saying("For an upload before sign-up.", example: .null), .uploadExpired)
    ],
    body: Body(contentType: "image/*", schema: .binary, example: .null),
    outcomes: [.json(201, .named("Upload"), "The upload; its sizes are made next.")],
    codes: [.notFound, .mediaQuota, .unsupportedMedia, .brokenMedia, .emptyBody, .pictureStorageFull],
    isIdempotent: true, isBudgeted: true)

  static let issueUploadToken = APIOperation(
    id: "issueUploadToken", method: .post, path: "media/tokens", tag: .pictures,
    summary: "Issues a token for one upload before sign-up.", access: .none,
    outcomes: [
      .json(
        201,
        .object(.required("token", .token), .required("expiresIn", .count, "In seconds.", example: 900)), "The token.")
    ], isBudgeted: true)

  static let readUpload = APIOperation(
    id: "readUpload", method: .get, path: "media/{id}", tag: .pictures, summary: "Returns one of the caller's uploads.",
    parameters: [picture], outcomes: [.json(200, .named("Upload"), "The upload.")])

  static let deleteUpload = APIOperation(
    id: "deleteUpload", method: .delete, path: "media/{id}", tag: .pictures,
    summary: "Deletes one of the caller's pictures that is shown nowhere.",
    parameters: [picture], outcomes: [.noContent],
    codes: [.mediaInUse])

  // MARK: The pictures themselves

  private static let shown: [Parameter] = [
    picture, .path("size", .values(PictureSize.allCases.map(\.rawValue)), .notFound),
    .header("If-None-Match", .text), .header("Range", .text.saying("One range of bytes.", example: .null)),
    .header("If-Range", .text), .header("Accept", .text.saying("`image/webp` for WebP; JPEG without it.")),
  ]

  private static let shownOutcomes: [Outcome] = [
    Outcome(
      status: 200, summary: "The picture.", contents: formats,
      headers: [.eTag, .cacheControl, Header(name: "Accept-Ranges", summary: "`bytes`.")]),
    Outcome(
      status: 206, summary: "The part that `Range` selects.", contents: formats,
      headers: [.eTag, .contentRange]),
    .empty(202, "Its sizes are being made.", headers: [.retryAfter]),
    .empty(302, "It is in an object store.", headers: [.location]),
    .empty(304, "The client has it.", headers: [.eTag]),
    .empty(416, "The range begins after the end.", headers: [.contentRange]),
  ]

  static let showPicture = APIOperation(
    id: "showPicture", method: .get, path: "/media/{id}/{size}", tag: .pictures, summary: "Returns a picture.",
    details: "For anyone with its id, which cannot be guessed.", access: .none, parameters: shown,
    outcomes: shownOutcomes, codes: [.mediaGone])

  static let showPictureHead = APIOperation(
    id: "showPictureHead", method: .head, path: "/media/{id}/{size}", tag: .pictures,
    summary: "Returns the headers of a picture.", access: .none, parameters: shown, outcomes: shownOutcomes,
    codes: [.mediaGone])
}
