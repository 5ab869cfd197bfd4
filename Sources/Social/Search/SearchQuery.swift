/// What is searched for: words, each of which what is found contains.
///
/// Letters are compared whatever their case, composed or not. A Korean consonant stands for itself and for the syllables
/// that begin with it. The functions of the schema that search bring queries and texts into the same form.
enum SearchQuery {
  /// Characters.
  static let lengths = 0...100
}
