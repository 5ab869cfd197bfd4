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
      // Posts have the size that the decoder found.
      let wrong = try await app.count(
        """
        SELECT count(*) FROM posts p, unnest(p.media) WITH ORDINALITY AS shown (id, n)
          JOIN media m USING (id) JOIN media_files f ON f.id = m.file_id
        WHERE (p.media_dimensions[2 * n - 1], p.media_dimensions[2 * n]) <> (f.width, f.height)
        """)
      #expect(wrong == 0)
      let audit = try await MediaAudit.run(nil, on: app.pool)
      #expect(audit.miscounted == 0 && audit.compared > 0)
      // A file is removed with its last picture.
      for (account, media) in known.withLock({ $0.media }) {
        for id in media { try await Self.allowing { try await Self.withdraw(id, app) } }
        #expect(try await app.count("SELECT count(*) FROM media WHERE owner_id = \(account)") == 0)
      }
      #expect(try await app.count("SELECT count(*) FROM media_files") == 0)
      #expect(try await app.count("SELECT coalesce(sum(bytes), 0)::bigint FROM media_quotas") == 0)
    }
  }

  private static func upload(_ content: UInt8, by account: Int, _ app: App) async throws -> MediaID {
    let upload = MediaUpload(
      hash: Array(repeating: content, count: 32), bytes: 100, header: try PictureHeader(.png, 10, 10))
    return try await app.client.transaction {
      try await MediaLibrary.add(upload, stored: MediaFile(), by: account, quota: .max, in: $0).id
    }
  }

  private static func dimensions(of post: Int, _ app: App) async throws -> [Int32] {
    try await app.pool.query("SELECT media_dimensions FROM posts WHERE id = \(post)").decode([Int32].self)[0]
  }

  @Test func aPostOfTheSameBytesTwiceIsCorrectedTwice() async throws {
    try await App.run { app in
      let account = try await app.account("ann")
      let (one, other) = (try await Self.upload(1, by: account, app), try await Self.upload(1, by: account, app))
      let third = try await Self.upload(2, by: account, app)
      let draft = try PostDraft(title: "twice", media: [one, third, other].map(\.text))
      let post = try await app.client.transaction { try await Posts.create(draft, by: account, in: $0).id }
      try await Self.end(of: 1, app) { try await PictureSizes.record(Self.made(30), of: $0, in: $1) }
      #expect(try await Self.dimensions(of: post, app) == [30, 30, 10, 10, 30, 30])
    }
  }

  /// The edit has read the header's size, and is not committed when the decoder's size is stored.
  @Test func anEditBesideTheDecoderGetsTheSizeThatItFound() async throws {
    try await App.run { app in
      let account = try await app.account("ann")
      let picture = try await Self.upload(1, by: account, app)
      let draft = try PostDraft(title: "without", media: [])
      let post = try await app.client.transaction { try await Posts.create(draft, by: account, in: $0).id }
      let (isEdited, hasEnded) = (Locked(false), Locked(false))
      async let edit: Void = app.client.transaction { transaction in
        try await Posts.edit(post, PostChanges(media: [picture.text]), by: account, in: transaction.sql)
        isEdited.withLock { $0 = true }
        try await eventually("the decoder's size waits for the edit, or is written down") {
          if hasEnded.withLock({ $0 }) { return true }
          return try await app.count(
            """
            SELECT count(*) FROM pg_locks JOIN pg_database ON oid = database
            WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted
            """) > 0
        }
      }
      try await eventually("the edit is under way") { isEdited.withLock { $0 } }
      try await Self.end(of: 1, app) { try await PictureSizes.record(Self.made(30), of: $0, in: $1) }
      hasEnded.withLock { $0 = true }
      try await edit
      #expect(try await Self.dimensions(of: post, app) == [30, 30])
    }
  }

  private static func step(
    _ accounts: [Int], _ known: Locked<Known>, _ random: inout SeededGenerator, _ app: App
  ) async throws {
    let account = accounts[Int.random(in: 0..<accounts.count, using: &random)]
    let (all, posts) = known.withLock { ($0.media[account] ?? [], $0.posts[account] ?? []) }
    let media = Array(all.shuffled(using: &random).prefix(Int.random(in: 0...4, using: &random)))
    let post = posts.randomElement(using: &random)
    let kind = Int.random(in: 0..<13, using: &random)
    let side = Int.random(in: 5...50, using: &random)
    // Few, so that accounts share files.
    let content = UInt8.random(in: 0..<4, using: &random)
    try await allowing {
      switch kind {
      case 0...2:
        let id = try await upload(content, by: account, app)
        known.withLock { $0.media[account, default: []].append(id) }
      case 3, 4:
        let draft = try PostDraft(title: "racing", media: media.map(\.text))
        let id = try await app.client.transaction { try await Posts.create(draft, by: account, in: $0).id }
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
      case 9, 10: try await end(of: content, app) { try await PictureSizes.record(made(side), of: $0, in: $1) }
      case 11: try await end(of: content, app) { try await PictureSizes.fail($0, "broken", in: $1) }
      default:
        guard let id = media.first else { return }
        if content == 0 { return try await withdraw(id, app) }
        try await app.client.transaction { try await MediaLibrary.delete(id, of: account, in: $0) }
      }
    }
  }

  /// The decoder's result for an original whose header had a different size.
  private static func made(_ side: Int) -> MadePictures { MadePictures(width: side, height: side, bytes: 10) }

  /// Ends the resizing of a file, as its job does.
  private static func end(
    of content: UInt8, _ app: App, _ body: @escaping @Sendable (MediaFile, AppTransaction) async throws -> Void
  ) async throws {
    let hash = [UInt8](repeating: content, count: 32)
    guard let file = try await MediaLibrary.file(hash: hash, in: app.pool) else { return }
    do {
      try await app.client.transaction { transaction in
        try await MediaLibrary.lock(file, in: transaction.sql)
        try await body(file, transaction)
      }
    } catch is MediaLibrary.OwnerCame {
      // The job would be retried.
    }
  }

  private static func withdraw(_ id: MediaID, _ app: App) async throws {
    try await app.client.transaction { try await MediaLibrary.withdraw(id, in: $0) }
  }

  /// Ignores refusals of a racer that came too late. A deadlock is no refusal, and fails the test.
  private static func allowing(_ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch let error as SocialError {
      let isLate =
        [.notFound, .mediaInUse, .brokenMedia].contains(error.code) || ["media", "avatar"].contains(error.field)
      guard isLate else { throw error }
    }
  }
}
