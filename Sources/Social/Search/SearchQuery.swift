/// A search query: words that must all occur in a result.
///
/// Comparison ignores case and composition. A Korean consonant matches itself and the syllables that begin with it. The
/// schema's search functions bring queries and texts into the same form.
enum SearchQuery {
  /// In characters.
  static let lengths = 0...100
}
