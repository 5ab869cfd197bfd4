import Testing

@testable import Cryptography

@Suite struct AES256CTRTests {
  @Test func producesWhatTheStandardSays() throws {
    // The AES Algorithm Validation Suite, ECB of zeros with a key of zeros: the first block of the counter.
    let stream = try AES256CTR.keyStream([UInt8](repeating: 0, count: 32), count: 64)
    #expect(Array(stream.prefix(16)).hexadecimal == "dc95c078a2408989ad48a21492842087")
    let blocks: Set = [stream[0..<16], stream[16..<32], stream[48..<64]]
    #expect(blocks.count == 3)
    #expect(try AES256CTR.keyStream([UInt8](repeating: 0, count: 32), count: 7) == Array(stream.prefix(7)))
  }

  @Test func refusesOtherKeysAndLengths() {
    for (key, count) in [(16, 16), (0, 16), (32, 0), (32, -1)] {
      #expect(throws: CryptographyError.self) {
        try AES256CTR.keyStream([UInt8](repeating: 1, count: key), count: count)
      }
    }
  }
}
