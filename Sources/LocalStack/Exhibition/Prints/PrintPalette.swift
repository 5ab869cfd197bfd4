/// The paper and the four inks of a print.
struct PrintPalette: Sendable {
  /// Red, green and blue, as in `0xFF48B0`.
  let paper: Int
  let inks: [Int]

  /// From light and warm to dark; the last ink draws what must be seen best.
  static let all: [PrintPalette] = [
    PrintPalette(paper: 0xF8F4EA, inks: [0xFFD800, 0xFF5FA8, 0x1B86C9, 0x2A2F57]),
    PrintPalette(paper: 0xF6F1E4, inks: [0xFFB511, 0xFF6C2F, 0x00838A, 0x2F4270]),
    PrintPalette(paper: 0xF7F3EA, inks: [0x82D8D5, 0xF4646C, 0x3F66B0, 0x27304F]),
    PrintPalette(paper: 0xFAF5EE, inks: [0xFFC2AE, 0x9D7AD2, 0x4C6FC4, 0x342A5C]),
    PrintPalette(paper: 0xF7F2E7, inks: [0xF3C64B, 0x5FB878, 0xE5584A, 0x1F4B4A]),
    PrintPalette(paper: 0xF4EDE2, inks: [0xE8B796, 0xC96A5B, 0x7B8FA8, 0x42304A]),
    PrintPalette(paper: 0xEFF1EC, inks: [0xA9D6E5, 0xF2B134, 0x2C7DA0, 0x1D2F45]),
    PrintPalette(paper: 0xF9F2F0, inks: [0xF7A8B8, 0xE2506E, 0x6B9080, 0x3B3355]),
  ]

  /// The colours of all overprints: bit n of an index says whether ink n is printed. Inks are transparent, so each
  /// multiplies what is under it.
  var overprints: [[UInt8]] {
    (0..<(1 << inks.count)).map { bits in
      [16, 8, 0].map { shift in
        var light = Double(paper >> shift & 255) / 255
        for (number, ink) in inks.enumerated() where bits >> number & 1 == 1 {
          light *= Double(ink >> shift & 255) / 255
        }
        return UInt8(light * 255 + 0.5)
      }
    }
  }
}
