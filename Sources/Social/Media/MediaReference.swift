/// Parses the picture ids in posts and profiles.
enum MediaReference {
  static let maxPerPost = 10

  /// - Throws: `invalid_media`.
  static func list(_ texts: [String]) throws(SocialError) -> [MediaID] {
    guard texts.count <= maxPerPost else { throw .invalid("media", "must have at most \(maxPerPost) pictures") }
    var ids: [MediaID] = []
    for text in texts {
      let id = try one(text, "media")
      guard !ids.contains(id) else { throw .invalid("media", "names the picture \(id) twice") }
      ids.append(id)
    }
    return ids
  }

  /// - Throws: `use_media` for an address, `invalid_…` for anything else that is not an id.
  static func one(_ text: String, _ field: String) throws(SocialError) -> MediaID {
    if let id = MediaID(text) { return id }
    if text.contains(":") || text.contains("/") { throw refusedAddress(field) }
    throw .invalid(field, "must be an 'id' that POST /v1/media returned")
  }

  /// Earlier versions accepted addresses of external pictures.
  static func refusedAddress(_ field: String) -> SocialError {
    SocialError(
      .useMedia,
      "\(field) does not take a URL: upload the picture with POST /v1/media, and send its id as 'avatar' or in 'media'",
      field: field)
  }
}

extension SocialError {
  /// A post was sent with the address of a picture.
  public static let imageAddress = MediaReference.refusedAddress("image")
}
