import TestSupport
import Testing

@testable import Social

struct MediaKeyTests {
  private static let file = "0123456789abcdef0123456789abcdef"

  @Test(arguments: MediaKey.Name.allCases)
  func aKeyIsItsTextAndBack(_ name: MediaKey.Name) throws {
    let key = try #require(MediaKey(file: Self.file, name: name))
    #expect(key.description == "\(Self.file)/\(name.rawValue)")
    #expect(MediaKey(key.description) == key)
  }

  @Test(arguments: [
    "", "/", file, "\(file)/", "/original", "\(file)/original/", "/\(file)/original", "\(file)//original",
    "\(file)/thumb.png", "\(file)/THUMB.webp", "\(file)/original ", "\(file)/..", "../\(file)/original",
    "\(file.dropLast())/original", "\(file)0/original", "\(file.uppercased())/original", "\(file)/original\n",
    "................................/original", "0123456789abcdef0123456789abcde\u{E9}/original",
    "0123456789abcdef0123456789abcd\u{E9}/original", "%2e%2e/original", "\(file)\\original", "\(file)/original\0",
  ])
  func anythingElseIsNoKey(_ text: String) {
    #expect(MediaKey(text) == nil)
  }

  @Test func keysHaveTheOrderOfTheirBytes() throws {
    var generator = SeededGenerator("keys in order")
    let keys = try (0..<500).map { _ in
      let digits = (0..<32).map { _ in "0123456789abcdef".randomElement(using: &generator) ?? "0" }
      let name = try #require(MediaKey.Name.allCases.randomElement(using: &generator))
      return try #require(MediaKey(file: String(digits.prefix(1)) + String(repeating: "0", count: 31), name: name))
    }
    let texts = keys.map { Array("\($0)".utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
    #expect(keys.sorted().map { Array("\($0)".utf8) } == texts)
  }
}
