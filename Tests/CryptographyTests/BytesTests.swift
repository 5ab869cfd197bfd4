import Cryptography
import Testing

@Suite("Random bytes, comparison and digits")
struct BytesTests {
  @Test("Two secrets are compared by all their bytes")
  func comparison() {
    #expect(isEqualInConstantTime([], []))
    #expect(isEqualInConstantTime([1, 2, 3], [1, 2, 3]))
    #expect(!isEqualInConstantTime([1, 2, 3], [1, 2, 4]))
    #expect(!isEqualInConstantTime([1, 2, 3], [0, 2, 3]))
    #expect(!isEqualInConstantTime([1, 2, 3], [1, 2]))
    #expect(!isEqualInConstantTime([], [0]))
  }

  @Test("Random bytes are as many as asked for, all values among them, and never the same twice")
  func random() {
    #expect([UInt8].random(count: 0).isEmpty)
    #expect(Set([UInt8].random(count: 20_000)).count == 256)
    #expect(Set((0..<1000).map { _ in [UInt8].random(count: 16) }).count == 1000)
  }

  @Test("A byte is two digits")
  func digits() {
    #expect([0, 1, 15, 16, 255].map { UInt8($0) }.hexadecimal == "00010f10ff")
    #expect([UInt8]().hexadecimal.isEmpty)
  }
}
