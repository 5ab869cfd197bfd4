import DurableJobs
import Foundation
import LibPQClient
import LocalStack
import ProgramTestSupport
import Social
import TestSupport
import Testing

/// A worker that makes pictures is killed with -9 at an arbitrary moment.
@Suite("A worker killed while it makes pictures", .timeLimit(.minutes(5)))
struct KilledPictureTests {
  @Test("Each picture has all its files in the end, and nothing else is in the store")
  func pictures() async throws {
    var random = SeededGenerator("pictures under kill -9")
    let pauses = (0..<20).map { _ in Int.random(in: 0...40, using: &random) }
    try await TestStack.with { stack in
      let store = MediaFolder(path: stack.mediaFolder)
      let owner = try await stack.pool.query("INSERT INTO accounts (username) VALUES ('ann') RETURNING id")[0]
        .decode(Int.self)
      for number in 0..<20 {
        try await upload(number, by: owner, into: store, stack)
      }
      var settings = stack.settings
      settings["FANMILL_WORKER_PORT"] = "0"
      settings["FANMILL_QUEUES"] = "pictures:2,default"
      for pause in pauses {
        let before = try await made(stack)
        let worker = try BuiltProgram("fanmill-worker").start([], environment: settings)
        try await eventually("it makes one") { try await made(stack) > before || before == 20 }
        // In the middle of the next ones.
        try await Task.sleep(for: .milliseconds(pause))
        worker.send(SIGKILL)
        _ = await worker.outcome()
      }
      let last = try BuiltProgram("fanmill-worker").start([], environment: settings)
      try await eventually("all are there") { try await made(stack) == 20 }
      try await eventually("no job is left") { try await stack.count("SELECT count(*) FROM jobs") == 0 }
      last.send(SIGTERM)
      _ = await last.outcome()
      let audit = try await MediaAudit.run(store, on: stack.pool)
      #expect(audit.isExact && audit.expected == 20 * 7 && audit.orphaned.isEmpty, "\(audit)")
      #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 0)
    }
  }

  @Test("Each card of a certificate is drawn in the end")
  func cards() async throws {
    var random = SeededGenerator("cards under kill -9")
    let pauses = (0..<6).map { _ in Int.random(in: 0...200, using: &random) }
    try await TestStack.with { stack in
      let secret = "a key of the tests, 32 characters or more"
      let fan = try await stack.pool.query("INSERT INTO accounts (username) VALUES ('ann') RETURNING id")[0]
        .decode(Int.self)
      for number in 1...12 {
        let celeb = try CelebAccount(platform: "instagram", account: "artist\(number)")
        _ = try await stack.client.transaction {
          try await Celebs.register(celeb, by: fan, limit: 12, in: $0)
        }
        let token = try await FanCertificates(secret: secret).issue(for: celeb, of: fan, in: stack.pool).token
        let drawn = try await CertificateCard.file(.png, of: token, by: stack.client, in: stack.pool)
        #expect(drawn == nil)
      }
      var settings = stack.settings
      settings["FANMILL_WORKER_PORT"] = "0"
      settings["FANMILL_QUEUES"] = "pictures:2"
      for pause in pauses {
        let before = try await cards(stack)
        let worker = try BuiltProgram("fanmill-worker").start([], environment: settings)
        try await eventually("it draws one") { try await cards(stack) > before || before == 12 }
        // In the middle of the next one.
        try await Task.sleep(for: .milliseconds(pause))
        worker.send(SIGKILL)
        _ = await worker.outcome()
      }
      let last = try BuiltProgram("fanmill-worker").start([], environment: settings)
      try await eventually("all are there") { try await cards(stack) == 12 }
      try await eventually("no card is left") {
        try await stack.count("SELECT count(*) FROM jobs WHERE kind = 'certificates.card'") == 0
      }
      last.send(SIGTERM)
      _ = await last.outcome()
      #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 0)
    }
  }

  private func cards(_ stack: TestStack) async throws -> Int {
    try await stack.count("SELECT count(*) FROM certificate_cards")
  }

  private func made(_ stack: TestStack) async throws -> Int {
    try await stack.count("SELECT count(*) FROM media_files WHERE ready")
  }

  private func upload(_ number: Int, by owner: Int, into store: MediaFolder, _ stack: TestStack) async throws {
    let bytes = StoredPNG(width: 300, height: 200) { x, y in [UInt8(x & 255), UInt8(y), UInt8(number)] }.bytes
    let path = NSTemporaryDirectory() + "fanmill-upload-\(UUID().uuidString)"
    try Data(bytes).write(to: URL(filePath: path))
    defer { unlink(path) }
    let file = MediaFile()
    try await store.put(path, at: file.original, contentType: "image/png")
    _ = try await stack.client.transaction { transaction in
      try await MediaLibrary.add(
        MediaUpload(
          hash: [UInt8](repeating: UInt8(number), count: 32), bytes: bytes.count, header: PictureHeader(path: path)),
        stored: file, by: owner, quota: .max, in: transaction
      ).id
    }
  }
}
