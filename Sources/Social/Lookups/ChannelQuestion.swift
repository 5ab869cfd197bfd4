/// What a fan types to find a channel, read: an id, a handle, or words to search for.
///
/// Questions that ask the same are equal, however they were typed: they share an answer.
public struct ChannelQuestion: Hashable, Sendable, CustomStringConvertible {
  enum Form: Hashable, Sendable {
    /// `UC…`, case and all.
    case id(String)
    /// With its `@`, in lower case.
    case handle(String)
    /// In lower case, with single spaces.
    case text(String)
  }

  let form: Form
  /// What is sent: as it was typed, letter for letter, but for spaces and what an address has around it.
  let words: String

  /// - Parameter typed: a channel's id (`UC…`), its handle (`@…`), its address, or words.
  /// - Throws: `invalid_q` for nothing, for more than 200 characters, for an address that is no channel's.
  public init(_ typed: String) throws(SocialError) {
    try FieldRules.text(typed, "q", 1...200)
    let typed = try Self.tidy(typed)
    if let address = ChannelAddress(typed) {
      let name = try address.name()
      // Decoded, it may hold what could not be typed.
      words = try Self.tidy(name.words)
      form = name.isText ? .text(words.lowercased()) : Self.form(of: words)
    } else {
      words = typed
      form = Self.form(of: typed)
    }
  }

  /// - Parameter id: of a channel, in the form that it has.
  init(channel id: String) {
    words = id
    form = .id(id)
  }

  private static func tidy(_ text: String) throws(SocialError) -> String {
    let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    guard !words.isEmpty else { throw .invalid("q", "is not only spaces") }
    try FieldRules.text(words, "q", 1...200)
    return words
  }

  public static func == (one: Self, other: Self) -> Bool { one.form == other.form }
  public func hash(into hasher: inout Hasher) { hasher.combine(form) }

  /// What words that are no address ask for.
  static func form(of words: String) -> Form {
    if isChannelID(words) { return .id(words) }
    // Handles and searches do not tell large from small letters.
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

  /// The question as it is kept: `id:UC…`, `handle:@…` or `text:…`.
  public var key: String {
    switch form {
    case .id(let id): "id:\(id)"
    case .handle(let handle): "handle:\(handle)"
    case .text(let text): "text:\(text)"
    }
  }

  /// Reads what `key` wrote; nil for anything else.
  ///
  /// - Parameter words: what is sent, if it is known.
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

  /// The channel that it names by its id.
  var channelID: String? {
    if case .id(let id) = form { id } else { nil }
  }
}
