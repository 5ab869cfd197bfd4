import DurableJobs
import Foundation
import LibPQClient
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(5))) struct CertificateCardTests {
  private let date = Date(timeIntervalSince1970: 1_790_000_000)

  private func drawing(title: String = "Developers", name: String = "Ann", picture: [UInt8]? = nil) -> CardDrawing {
    CardDrawing(
      certificate: FanCertificate(
        platform: .youtube, account: "UC_x5XG1OV2P6uZZ5FSM9Ttw", username: "ann", since: date, hearts: 1234, rank: 3,
        fans: 100, issuedAt: date),
      title: title, name: name, picture: picture, address: "https://api.example.org/v1/certificates/a.b.c")
  }

  /// Another program draws the same code for this text and mask.
  @Test func aCodeIsThatOfTheStandard() throws {
    let code = try #require(QRCode("h"))
    #expect(code.size == 21)
    let rows = (0..<21).map { row in (0..<21).map { code[row, $0] ? "#" : "." }.joined() }
    #expect(rows == CertificateCardTests.known)
    #expect(QRCode(String(repeating: "a", count: 997))?.size == 117)
    #expect(QRCode(String(repeating: "a", count: 998)) == nil)
  }

  private static let known = [
    "#######.#.#...#######",
    "#.....#..##.#.#.....#",
    "#.###.#.####..#.###.#",
    "#.###.#..#.##.#.###.#",
    "#.###.#..####.#.###.#",
    "#.....#.##.##.#.....#",
    "#######.#.#.#.#######",
    ".........##.#........",
    "#.#...##.......#..#.#",
    "#.#......#.#.###.##..",
    "#.#.#####..###.###.##",
    "###.##...#.#.###.##..",
    "##.#..##..##########.",
    "........###.........#",
    "#######.#.#...#...#.#",
    "#.....#..#..#...#..#.",
    "#.###.#..##...#...###",
    "#.###.#...##.###.##..",
    "#.###.#.##.###.###.##",
    "#.....#..#.#.###.##..",
    "#######.###########.#",
  ]

  @Test func whatPeopleWriteCannotBreakOut() throws {
    let drawn = drawing(
      title: #"<script>alert("1")</script>&"#, name: "</text><image href='x'/>\u{0}\u{8}"
    ).svg
    #expect(!drawn.contains("<script") && !drawn.contains("<image") && !drawn.contains("\u{0}"))
    #expect(drawn.contains("&lt;script&gt;") && drawn.contains("1,234") && drawn.contains("#3"))
    #expect(drawn.contains("2026-09-21"))
    // Data that is not a picture is left out, and so is an embedded document.
    #expect(!drawing(picture: Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8)).svg.contains("<image"))
    #expect(drawing(picture: [0xFF, 0xD8, 0xFF, 0xE0]).svg.contains("data:image/jpeg;base64,/9j/4A=="))
    let long = drawing(title: String(repeating: "가나다라", count: 30)).svg
    let lines = long.split(separator: "\n").filter { $0.contains("<text") }
    #expect(lines.contains { $0.contains("…") })
    #expect(!lines.contains { $0.contains(String(repeating: "가나다라", count: 5)) })
  }

  @Test(.enabled(if: PictureWorkshop.isAvailable)) func aWorkerDrawsACardOnce() async throws {
    try await App.run { app in
      let fan = try await app.account("ann")
      let channel = try CelebAccount.channel(1)
      try await app.pool.execute(
        """
        INSERT INTO channels (id, title, thumbnail, has_details, fetched_at)
        VALUES (\(channel.name), '미술관 & Friends', 'https://example.org/a.jpg', false, now())
        """)
      try await app.register(channel, by: fan)
      let certificates = FanCertificates(secret: "a key of the tests, 32 characters or more")
      let (token, _) = try await certificates.issue(for: channel, of: fan, in: app.pool)
      func file(_ form: CertificateCard.Form) async throws -> [UInt8]? {
        try await CertificateCard.file(form, of: token, by: app.client, in: app.pool)
      }
      #expect(try await file(.svg) == nil)
      #expect(try await file(.png) == nil)
      let studio = CardStudio(workshop: PictureWorkshop(), address: "https://api.example.org") { address in
        #expect(address == "https://example.org/a.jpg")
        return nil
      }
      try await app.drain(cards: studio)
      let svg = String(decoding: try #require(try await file(.svg)), as: UTF8.self)
      #expect(svg.contains("미술관 &amp; Friends") && svg.contains("@ann"))
      let png = try #require(try await file(.png))
      #expect(png.starts(with: [0x89, 0x50, 0x4E, 0x47]) && png.count > 10_000)
      let folder = FileManager.default.temporaryDirectory.appending(path: "card-\(UUID().uuidString).png")
      try Data(png).write(to: folder)
      let header = try PictureHeader(path: folder.path)
      #expect((header.width, header.height) == (1200, 630))
      try FileManager.default.removeItem(at: folder)
      // It is deleted after a day, or at once with its account.
      try await app.pool.execute("UPDATE certificate_cards SET made_at = now() - interval '25 hours'")
      try await app.client.enqueue(MediaSweep())
      try await app.drain()
      #expect(try await file(.png) == nil)
      try await app.drain(cards: studio)
      #expect(try await file(.png) != nil)
      try await app.client.transaction { try await Deletions.delete(fan, in: $0) }
      try await app.drain()
      #expect(try await app.count("SELECT count(*) FROM certificate_cards") == 0)
      // A revoked certificate gets no card.
      try await app.client.enqueue(CertificateCard(token: token))
      try await app.drain(cards: studio)
      #expect(try await app.count("SELECT count(*) FROM certificate_cards") == 0)
    }
  }
}
