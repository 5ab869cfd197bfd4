/// Reads numbers from a file's header. The caller must check that the bytes exist.
extension [UInt8] {
  func bigEndian16(at index: Int) -> UInt16 { UInt16(self[index]) << 8 | UInt16(self[index + 1]) }

  func bigEndian32(at index: Int) -> UInt32 {
    UInt32(bigEndian16(at: index)) << 16 | UInt32(bigEndian16(at: index + 2))
  }

  func littleEndian16(at index: Int) -> UInt16 { UInt16(self[index + 1]) << 8 | UInt16(self[index]) }

  func littleEndian24(at index: Int) -> UInt32 {
    UInt32(self[index + 2]) << 16 | UInt32(littleEndian16(at: index))
  }

  func littleEndian32(at index: Int) -> UInt32 {
    UInt32(littleEndian16(at: index + 2)) << 16 | UInt32(littleEndian16(at: index))
  }
}
