import LibPQClient

/// The pictures for a post or profile to show: all belong to its owner, and none has failed.
struct MediaUse: Sendable {
  let ids: [String]
  /// A width and a height for each.
  let dimensions: [Int32]

  static let none = MediaUse(ids: [], dimensions: [])

  private init(ids: [String], dimensions: [Int32]) {
    self.ids = ids
    self.dimensions = dimensions
  }

  /// Finds the pictures and prevents their removal until the transaction ends.
  ///
  /// - Throws: `invalid_…` for the field if a picture does not exist, belongs to another account or is given twice;
  ///   `broken_media`.
  init(_ media: [MediaID], of owner: Int, as field: String, in transaction: PostgresTransaction) async throws {
    if media.isEmpty {
      self = .none
      return
    }
    let rows = try await transaction.query(
      """
      SELECT m.id, m.failure, coalesce(f.width, 0), coalesce(f.height, 0)
      FROM \(unescaped: MediaLibrary.tables)
      WHERE m.id = ANY (\(media.map(\.text))) AND m.owner_id = \(owner) ORDER BY m.id FOR UPDATE OF m
      """)
    var found: [String: [Int32]] = [:]
    for row in rows {
      let (id, failure, width, height) = try row.decode(String.self, String?.self, Int32.self, Int32.self)
      if let failure {
        throw SocialError(.brokenMedia, "the picture \(id) could not be processed: \(failure)", field: field)
      }
      found[id] = [width, height]
    }
    for id in media where found[id.text] == nil {
      throw .invalid(field, "names a picture that is not yours: \(id)") as SocialError
    }
    self.init(ids: media.map(\.text), dimensions: media.flatMap { found[$0.text] ?? [] })
  }
}
