/// A user's query for a channel, parsed as an id, a handle, or words to search for.
///
/// Queries with the same meaning are equal, however they were typed, and share an answer.
public struct ChannelQuestion: Hashable, Sendable, CustomStringConvertible {
  enum Form: Hashable, Sendable {
    /// `UC…`, case-sensitive.
    case id(String)
    /// With its `@`, in lower case.
    case handle(String)
    /// In lower case, with single spaces.
    case text(String)
  }

  let form: Form
  /// The text to send: as typed, except for spaces and the parts of an address around it.
  let words: String

  /// - Parameter typed: a channel's id (`UC…`), its handle (`@…`), its address, or words.
  /// - Throws: `invalid_q` for empty text, for more than 200 characters, or for an address that is not a channel's.
  public init(_ typed: String) throws(SocialError) {
    try FieldRules.text(typed, "q", 1...200)
    let typed = try Self.tidy(typed)
    if let address = ChannelAddress(typed) {
      let name = try address.name()
      // Once decoded, it may contain characters that cannot be typed, so it is checked again.
      words = try Self.tidy(name.words)
      form = name.isText ? .text(words.lowercased()) : Self.form(of: words)
    } else {
      words = typed
      form = Self.form(of: typed)
    }
  }

  /// - Parameter id: a channel's id, as it is.
  init(channel id: String) {
    words = id
    form = .id(id)
  }

  private static func tidy(_ text: String) throws(SocialError) -> String {
    let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    guard !words.isEmpty else { throw .invalid("q", "must not be blank") }
    try FieldRules.text(words, "q", 1...200)
    return words
  }

  public static func == (one: Self, other: Self) -> Bool { one.form == other.form }
  public func hash(into hasher: inout Hasher) { hasher.combine(form) }

  /// The form of a query that is not an address.
  static func form(of words: String) -> Form {
    if isChannelID(words) { return .id(words) }
    // Handles and searches ignore case.
    let small = words.lowercased()
    if small.first == "@", isHandle(small.dropFirst()) { return .handle(small) }
    return .text(small)
  }

  /// `UC` and 22 letters, digits, `-` or `_`.
  static func isChannelID(_ text: some StringProtocol) -> Bool {
    text.utf8.count == 24 && text.hasPrefix("UC") && text.utf8.allSatisfy(isIDByte)
  }

  static func isIDByte(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x2D || byte == 0x5F
  }

  /// Letters of any script, digits, `.`, `-`, `_` and `·`.
  static func isHandle(_ name: some StringProtocol) -> Bool {
    (1...30).contains(name.count) && name.allSatisfy { $0.isLetter || $0.isNumber || ".-_·".contains($0) }
  }

  /// The query's stored form: `id:UC…`, `handle:@…` or `text:…`.
  public var key: String {
    switch form {
    case .id(let id): "id:\(id)"
    case .handle(let handle): "handle:\(handle)"
    case .text(let text): "text:\(text)"
    }
  }

  /// Parses the output of `key`; nil for any other text.
  ///
  /// - Parameter words: the text to send, if known.
  public init?(key: String, words: String? = nil) {
    guard let colon = key.firstIndex(of: ":") else { return nil }
    let text = String(key[colon...].dropFirst())
    self.words = words ?? text
    switch key[..<colon] {
    case "id": form = .id(text)
    case "handle": form = .handle(text)
    case "text": form = .text(text)
    default: return nil
    }
  }

  public var description: String {
    switch form {
    case .id(let text), .handle(let text), .text(let text): text
    }
  }

  /// The channel id, if the query names one.
  var channelID: String? {
    if case .id(let id) = form { id } else { nil }
  }
}
