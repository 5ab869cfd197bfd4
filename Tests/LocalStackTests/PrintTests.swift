import Testing

@testable import LocalStack

@Suite("Pictures that the demo draws")
struct PrintTests {
  @Test("A print is the same each time, and another one with another seed", arguments: Print.Design.allCases)
  func isTheSame(design: Print.Design) {
    let print = Print(design: design, shape: .upright, palette: 3, seed: 7)
    let bytes = print.png(side: 120)
    #expect(bytes == print.png(side: 120))
    #expect(bytes != Print(design: design, shape: .upright, palette: 3, seed: 8).png(side: 120))
    #expect(bytes != Print(design: design, shape: .upright, palette: 4, seed: 7).png(side: 120))
  }

  @Test("Its PNG says its size, has 16 colours, and holds every row", arguments: Print.Shape.allCases)
  func png(shape: Print.Shape) {
    let bytes = Print(design: .tiles, shape: shape, palette: 0, seed: 1).png(side: 100)
    let (width, height) = shape == .square ? (100, 100) : shape == .upright ? (80, 100) : (100, 75)
    #expect(bytes.prefix(8).elementsEqual([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]))
    #expect(Array(bytes[16..<26]) == [0, 0, 0, UInt8(width), 0, 0, 0, UInt8(height), 4, 3])
    // The palette's chunk, and after it the pixels': a zlib header, one stored block, a checksum.
    #expect(Array(bytes[33..<41]) == [0, 0, 0, 48] + Array("PLTE".utf8))
    let size = height * (1 + width / 2)
    let length = 2 + 5 + size + 4
    #expect(Array(bytes[93..<101]) == [0, 0, UInt8(length >> 8), UInt8(length & 255)] + Array("IDAT".utf8))
  }

  @Test("Every palette has a colour for each overprint, from paper to nearly black")
  func palettes() {
    for palette in PrintPalette.all {
      #expect(palette.overprints.count == 16)
      #expect(palette.overprints[0] == [16, 8, 0].map { UInt8(palette.paper >> $0 & 255) })
      #expect(palette.overprints[15].allSatisfy { $0 < 70 })
    }
  }

  @Test("An ink prints what is inside the outline, as much as its tone says")
  func tones() {
    func inked(_ tone: PrintTone) -> Int {
      var sheet = PrintSheet(width: 100, height: 100)
      sheet.fill(PrintOutlines.rectangle(0.25, 0.25, 0.5, 0.5), 0, tone)
      return sheet.printed(0)
    }
    #expect(inked(.flat(1)) == 2500)
    #expect(inked(.flat(0)) == 0)
    #expect((1100...1400).contains(inked(.flat(0.5))))
    #expect((1100...1400).contains(inked(.linear(PrintPoint(0.25, 0), 0, PrintPoint(0.75, 0), 1))))
    var sheet = PrintSheet(width: 100, height: 100)
    sheet.fill(sheet.edge, 0)
    sheet.clear(PrintOutlines.rectangle(0, 0, 1, 0.4))
    #expect(sheet.printed(0) == 6000)
  }

  @Test("An outline that leaves the sheet is cut at its edges")
  func edges() {
    var sheet = PrintSheet(width: 60, height: 40)
    sheet.fill(PrintOutlines.rectangle(-2, -2, 5, 5), 2)
    #expect(sheet.printed(2) == 2400)
    sheet.fill(PrintOutlines.circle(PrintPoint(3, 3), 0.5), 1)
    sheet.fill(PrintOutlines.circle(PrintPoint(-3, -3), 0.5), 1)
    #expect(sheet.printed(1) == 0)
  }
}
