import DurableJobs
import Foundation
import LibPQClient
import Locking
import TestSupport
import Testing

@testable import Social

/// Triggers count pictures, and lock files, pictures and quotas for it. Concurrent changes must neither deadlock nor
/// miscount.
@Suite(.timeLimit(.minutes(2))) struct MediaRaceTests {
  private struct Known {
    var media: [Int: [MediaID]] = [:]
    var posts: [Int: [Int]] = [:]
  }

  @Test func whoeverChangesWhatPicturesAreExactlyCounted() async throws {
    var random = SeededGenerator("racing pictures")
    let seeds = (0..<8).map { _ in random.next() }
    try await App.run { app in
      let accounts = try await app.accounts(3)
      let known = Locked(Known())
      try await withThrowingTaskGroup(of: Void.self) { group in
        for seed in seeds {
          group.addTask {
            var random = SeededGenerator(seed: seed)
            for _ in 0..<40 { try await Self.step(accounts, known, &random, app) }
          }
        }
        try await group.waitForAll()
      }
      let audit = try await MediaAudit.run(nil, on: app.pool)
      #expect(audit.miscounted == 0 && audit.compared > 0)
      // With the last picture of it a file goes.
      for (account, media) in known.withLock({ $0.media }) {
        for id in media { try await Self.allowing { try await Self.withdraw(id, app) } }
        #expect(try await app.count("SELECT count(*) FROM media WHERE owner_id = \(account)") == 0)
      }
      #expect(try await app.count("SELECT count(*) FROM media_files") == 0)
      #expect(try await app.count("SELECT coalesce(sum(bytes), 0)::bigint FROM media_quotas") == 0)
    }
  }

  private static func step(
    _ accounts: [Int], _ known: Locked<Known>, _ random: inout SeededGenerator, _ app: App
  ) async throws {
    let account = accounts[Int.random(in: 0..<accounts.count, using: &random)]
    let (all, posts) = known.withLock { ($0.media[account] ?? [], $0.posts[account] ?? []) }
    let media = Array(all.shuffled(using: &random).prefix(Int.random(in: 0...4, using: &random)))
    let post = posts.randomElement(using: &random)
    let kind = Int.random(in: 0..<10, using: &random)
    // Few, so that accounts share files.
    let content = UInt8.random(in: 0..<4, using: &random)
    try await allowing {
      switch kind {
      case 0...2:
        let upload = MediaUpload(
          hash: Array(repeating: content, count: 32), bytes: 100, header: try PictureHeader(.png, 10, 10))
        let id = try await app.client.transaction {
          try await MediaLibrary.add(upload, stored: MediaFile(), by: account, quota: .max, in: $0).id
        }
        known.withLock { $0.media[account, default: []].append(id) }
      case 3, 4:
        let draft = try PostDraft(title: "racing", media: media.map(\.text))
        let id = try await app.client.transaction { try await Posts.create(draft, by: account, in: $0) }
        known.withLock { $0.posts[account, default: []].append(id) }
      case 5, 6:
        guard let post else { return }
        let changes = try PostChanges(media: media.map(\.text))
        try await app.client.transaction { try await Posts.edit(post, changes, by: account, in: $0.sql) }
      case 7:
        guard let post else { return }
        try await app.client.transaction { try await Posts.delete(post, by: account, in: $0) }
      case 8:
        let changes = try AccountChanges(avatar: .some(media.first?.text))
        try await app.client.transaction { try await Accounts.change(account, changes, in: $0.sql) }
      default:
        guard let id = media.first else { return }
        if content == 0 { return try await withdraw(id, app) }
        try await app.client.transaction { try await MediaLibrary.delete(id, of: account, in: $0) }
      }
    }
  }

  private static func withdraw(_ id: MediaID, _ app: App) async throws {
    try await app.client.transaction { try await MediaLibrary.withdraw(id, in: $0) }
  }

  /// What a racer was too late for is refused. A deadlock is no refusal, and fails the test.
  private static func allowing(_ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch let error as SocialError {
      let isLate = [.notFound, .mediaInUse].contains(error.code) || ["media", "avatar"].contains(error.field)
      guard isLate else { throw error }
    }
  }
}
