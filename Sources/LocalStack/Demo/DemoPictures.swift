import DurableJobsAdmin
import Foundation
import LibPQClient
import Social

/// A hundred pictures drawn by the demo: uploaded, shown in posts and as avatars, and fetched in all sizes.
struct DemoPictures: Sendable {
  static let count = 100
  private static let perPost = 4

  func play(on stage: DemoStage, _ pool: PostgresPool) async throws -> DemoReport.Pictures {
    let authors = try await pool.query(
      "SELECT id FROM accounts ORDER BY id LIMIT \(Self.count / Self.perPost)"
    ).decode(Int.self)
    let start = ContinuousClock.now
    var posts = 0
    var ids: [String] = []
    for (index, author) in authors.enumerated() {
      var own: [String] = []
      for number in 0..<Self.perPost {
        own.append(try await stage.upload(DemoPicture(index * Self.perPost + number), as: author))
      }
      try await stage.post(showing: own, as: author)
      try await stage.send("PATCH", "/v1/me", as: author, json: ["avatar": own[0]], expecting: 200)
      posts += 1
      ids += own
    }
    let uploaded = start.duration(to: .now)
    var bytes = 0
    for id in ids {
      for size in ["thumb", "feed", "full"] { bytes += try await stage.waitForPicture(id, size) }
    }
    return DemoReport.Pictures(
      count: ids.count, posts: posts, secondsUploaded: uploaded / .seconds(1),
      secondsUntilMade: (start.duration(to: .now) - uploaded) / .seconds(1), bytes: bytes)
  }
}

extension DemoStage {
  private struct Uploaded: Decodable { let id: String }

  /// - Returns: the picture's id.
  fileprivate func upload(_ picture: DemoPicture, as account: Int) async throws -> String {
    try await send(
      "POST", "/v1/media", as: account, body: picture.bytes, type: "image/png", expecting: [201]
    ).decode(Uploaded.self).id
  }

  fileprivate func post(showing media: [String], as account: Int) async throws {
    struct Draft: Encodable {
      let title: String
      let media: [String]
    }
    let draft = try JSONEncoder().encode(Draft(title: "\(media.count) pictures", media: media))
    try await send("POST", "/v1/posts", as: account, body: Array(draft), type: "application/json", expecting: [201])
  }

  /// Waits until a size of a picture is available.
  ///
  /// - Returns: its bytes.
  fileprivate func waitForPicture(_ id: String, _ size: String) async throws -> Int {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      let answer = try fetch("/media/\(id)/\(size)")
      if answer.status == 200 { return answer.body.count }
      guard answer.status == 202, .now < deadline else {
        throw OperationError(.failed, "the API answered /media/\(id)/\(size) with \(answer.status)")
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}
