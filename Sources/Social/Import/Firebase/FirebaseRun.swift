import Foundation
import LibPQClient

/// One run of an import: reads the files kind by kind, and passes batches on.
///
/// Reads block. The command that runs an import has nothing else to do meanwhile.
final class FirebaseRun {
  /// The most records per batch, and the bytes after which one is full before.
  private static let batchBytes = 4 << 20

  /// Users come in larger batches: beyond 1,000 rows at once their search index is written in bulk
  /// (`migrations/0051_search.sql`). What takes locks for each post or author comes in smaller ones.
  private static func batchLimit(of kind: FirebaseKind) -> Int { kind == .auth || kind == .users ? 2000 : 500 }

  private let files: FirebaseImport
  private let writer: FirebaseWriter?
  private let mapping: FirebaseMapping
  private let scrypt: FirebaseScrypt?
  private let rejected: RejectedRecords
  private let now: Date
  private let progress: @Sendable (FirebaseImport.Progress) -> Void
  private var report = FirebaseImport.Report()

  /// Bytes read, of all that will be.
  private var readBytes = 0
  private var totalBytes = 1

  /// What a dry run has seen.
  private var users: ReferenceFilter?
  private var posts: ReferenceFilter?

  init(
    _ files: FirebaseImport, _ writer: FirebaseWriter?, now: Date,
    progress: @escaping @Sendable (FirebaseImport.Progress) -> Void
  ) throws(FirebaseImportError) {
    self.files = files
    self.writer = writer
    self.now = now
    self.progress = progress
    if let file = files.mapping { mapping = try FirebaseMapping(file: file) } else { mapping = .usual }
    if let file = files.hashConfig {
      let text = String(decoding: try ImportFile.bytes(of: file, atMost: 1 << 16), as: UTF8.self)
      do throws(FirebaseScrypt.Refusal) {
        scrypt = try FirebaseScrypt(text)
      } catch {
        throw FirebaseImportError(
          .malformed,
          "\(file): \(error): copy the parameters from the Firebase console, Authentication, Users, Password hash "
            + "parameters")
      }
    } else {
      scrypt = nil
    }
    // All files are looked at before anything is written.
    var sizes = 0
    if let file = files.auth { sizes += try ImportFile.size(of: file) }
    for file in [files.firestore, files.database].compactMap({ $0 }) {
      sizes += try ImportFile.size(of: file) * FirebaseKind.ofDatabases.count
    }
    if let file = files.retry { sizes += try ImportFile.size(of: file) * FirebaseKind.allCases.count }
    totalBytes = max(1, sizes)
    rejected = try RejectedRecords(path: files.rejects)
  }

  // MARK: Phases

  /// Imports everything.
  func writeAll(on pool: PostgresPool, store: any MediaStore) async throws -> FirebaseImport.Report {
    guard let writer else { preconditionFailure("only a dry run has no writer") }
    try await read(.auth)
    try await read(.users)
    // A run without sign-in data has read no profiles that the sign-in data of an earlier one may wait for.
    if files.auth != nil || report[.auth].added > 0 { try await openWithoutProfile(writer, pool) }
    try await read(.posts)
    try await takePictures(writer, pool, store)
    try await read(.follows)
    for kind in [FirebaseKind.likes, .comments, .messages] {
      try await read(kind)
      try await move(kind, writer)
    }
    try await read(.notifications)
    try await read(.celebs)
    show(0.97, "writing notifications")
    while try await writer.writeNotifications(limit: 100).remaining > 0 {}
    show(0.98, "counting followers")
    try await writer.countFollowers(in: pool)
    // Fresh statistics for the planner, and the visibility map, by which fan-outs read followers from the index alone.
    for table in Self.tables {
      show(0.99, "analyzing \(table)")
      try await pool.execute("VACUUM (ANALYZE) \(unescaped: table)", timeout: .seconds(3600))
    }
    return try finish()
  }

  private static let tables = [
    "accounts", "posts", "follows", "likes", "comments", "messages", "notifications", "celeb_fans", "hearts", "imports",
    "import_waiting",
  ]

  /// Checks everything, in the same order.
  func checkAll() async throws -> FirebaseImport.Report {
    users = ReferenceFilter()
    posts = ReferenceFilter()
    for kind in FirebaseKind.allCases where kind != .pictures { try await read(kind) }
    return try finish()
  }

  private func finish() throws -> FirebaseImport.Report {
    try rejected.finish()
    report.rejects = rejected.count > 0 ? rejected.path : nil
    show(1, "done")
    return report
  }

  private func show(_ share: Double, _ what: String) { progress(FirebaseImport.Progress(share: share, what: what)) }

  private func move(_ kind: FirebaseKind, _ writer: FirebaseWriter) async throws {
    while true {
      try Task.checkCancellation()
      let outcome = try await writer.move(kind, limit: 1000)
      report[kind].added += outcome.added
      report[kind].known += outcome.known
      if outcome.remaining == 0 { return }
      showReading("sorting \(kind.rawValue)")
    }
  }

  /// Opens accounts for sign-in data without a profile.
  private func openWithoutProfile(_ writer: FirebaseWriter, _ pool: PostgresPool) async throws {
    var last = ""
    while true {
      try Task.checkCancellation()
      let uids = try await writer.usersWithoutProfile(after: last, limit: Self.batchLimit(of: .users), in: pool)
      guard let end = uids.last else { return }
      last = end
      let records = uids.map { uid in
        ImportedRecord(
          kind: .users, file: files.auth ?? "auth", line: 0, path: mapping.path(ofUser: uid), bytes: Array("{}".utf8))
      }
      let users = uids.enumerated().map { BatchItem(index: $0.offset, value: FirebaseRecords.User(uid: $0.element)) }
      try await write(records, users) { try await writer.write(users: $0) }
    }
  }

  private func takePictures(_ writer: FirebaseWriter, _ pool: PostgresPool, _ store: any MediaStore) async throws {
    let total = try await writer.picturesCount(in: pool)
    guard let folder = files.storage else {
      report.waitingPictures = total
      return
    }
    var (last, done) = (0, 0)
    while true {
      let pictures = try await writer.pictures(after: last, limit: Self.batchLimit(of: .pictures), in: pool)
      guard let end = pictures.last else { return }
      last = end.id
      for picture in pictures {
        try Task.checkCancellation()
        do {
          try await writer.write(picture, from: folder, to: store, in: pool)
          report[.pictures].added += 1
        } catch let problem as RecordProblem {
          // It waits for the next run, which may find its file.
          try reject(picture, problem.description)
        }
        done += 1
        showReading("taking pictures: \(done) of \(total)")
      }
    }
  }

  private func reject(_ picture: FirebaseWriter.StagedPicture, _ reason: String) throws {
    report[.pictures].rejected += 1
    let line = RejectedRecords.Line(
      kind: .pictures, file: files.storage ?? "", line: 0, path: [picture.source],
      reason: "the picture \(picture.path) of \(picture.source) \(reason)")
    try rejected.add(line, record: Array(try JSONEncoder().encode(["path": picture.path])))
  }

  // MARK: Reading

  private func showReading(_ what: String) { show(0.96 * min(1, Double(readBytes) / Double(totalBytes)), what) }

  /// Reads all records of a kind from the files that may have them.
  private func read(_ kind: FirebaseKind) async throws {
    if let file = files.retry { return try await readRejected(kind, file) }
    let sources = kind == .auth ? [files.auth] : [files.firestore, files.database]
    for file in sources.compactMap({ $0 }) {
      let stream: JSONStream
      do throws(JSONStream.Failure) {
        stream = try JSONStream(
          file: file, wanted: mapping.paths(of: kind), others: kind == .auth ? [] : mapping.allPaths)
      } catch {
        throw FirebaseImportError(error)
      }
      let before = readBytes
      var batch: [ImportedRecord] = []
      var bytes = 0
      while let record = try next(stream) {
        batch.append(
          ImportedRecord(kind: kind, file: file, line: record.line, path: record.path, bytes: record.bytes))
        bytes += record.bytes?.count ?? 0
        guard batch.count == Self.batchLimit(of: kind) || bytes >= Self.batchBytes else { continue }
        try await take(batch, of: kind)
        batch.removeAll(keepingCapacity: true)
        bytes = 0
        readBytes = before + stream.offset
        showReading("reading \(kind.rawValue)")
      }
      try await take(batch, of: kind)
      readBytes = before + stream.size
      showReading("reading \(kind.rawValue)")
    }
  }

  private func next(_ stream: JSONStream) throws(FirebaseImportError) -> JSONStream.Record? {
    do throws(JSONStream.Failure) { return try stream.next() } catch { throw FirebaseImportError(error) }
  }

  /// Reads the records of a kind from a file of rejected ones.
  private func readRejected(_ kind: FirebaseKind, _ file: String) async throws {
    let before = readBytes
    let reader: LineReader
    do throws(GraphImportError) { reader = try LineReader(path: file) } catch {
      throw FirebaseImportError(.unreadable, error.message)
    }
    let decoder = JSONDecoder()
    var batch: [ImportedRecord] = []
    while let line = try await reader.next() {
      readBytes = before + reader.bytes
      if line.isEmpty { continue }
      guard let head = try? decoder.decode(RejectedRecords.Line.self, from: Data(line)),
        let datum = try? JSONDatum(Array(line))
      else {
        throw FirebaseImportError(
          .malformed, "\(file):\(reader.number): the line is not one of a file of rejected records")
      }
      if head.kind != kind || head.imported == true { continue }
      // Written anew: who corrected the line may have laid it out in another way.
      batch.append(
        ImportedRecord(
          kind: kind, file: head.file, line: head.line, path: head.path, bytes: datum["record"].map(\.json)))
      guard batch.count == Self.batchLimit(of: kind) else { continue }
      try await take(batch, of: kind)
      batch.removeAll(keepingCapacity: true)
      showReading("reading \(kind.rawValue)")
    }
    try await take(batch, of: kind)
  }

  // MARK: Batches

  /// Checks a batch of records and passes on those without a problem.
  private func take(_ batch: [ImportedRecord], of kind: FirebaseKind) async throws {
    if batch.isEmpty { return }
    try Task.checkCancellation()
    let writer = self.writer
    let scrypt = self.scrypt
    let now = self.now
    switch kind {
    case .auth:
      let isRequired = files.requiresPasswords
      let items = try parse(batch) { fields, _ throws(RecordProblem) -> FirebaseRecords.SignIn in
        if isRequired, scrypt == nil, try fields.optionalText("hash")?.isEmpty == false {
          throw RecordProblem(description: "has a password: give --hash-config FILE, or --without-passwords")
        }
        return try FirebaseRecords.SignIn(fields, scrypt: scrypt, now: now)
      }
      // A user without a profile gets an account too.
      note(items.map(\.value.uid), in: &users)
      try await write(batch, items) { try await writer?.write(signIns: $0) }
    case .users:
      let items = try parse(batch) { fields, _ throws(RecordProblem) in try FirebaseRecords.User(fields, now: now) }
      note(items.map(\.value.uid), in: &users)
      let refused = try await write(batch, items) { try await writer?.write(users: $0) }
      let taken = Set(items.map(\.index)).subtracting(refused)
      try await writer?.hold(batch.indices.filter { !taken.contains($0) }.compactMap { user(of: batch[$0]) })
    case .posts:
      let items = try parse(batch) { fields, _ throws(RecordProblem) in try FirebaseRecords.Post(fields, now: now) }
      let known = try refer(batch, items) {
        [$0.author]
      } posts: { _ in
        []
      }
      note(known.map(\.value.source), in: &posts)
      try await write(batch, known) { try await writer?.write(posts: $0) }
    case .pictures: break
    case .follows:
      let items = try parse(batch) { fields, _ throws(RecordProblem) in try FirebaseRecords.Follow(fields, now: now) }
      let known = try refer(batch, items) {
        [$0.follower, $0.followee]
      } posts: { _ in
        []
      }
      try await write(batch, known) { try await writer?.write(follows: $0) }
    case .likes:
      let items = try parse(batch) { fields, _ throws(RecordProblem) in try FirebaseRecords.Like(fields, now: now) }
      let known = try refer(batch, items) {
        [$0.user]
      } posts: {
        [$0.post]
      }
      try await write(batch, known) { try await writer?.write(likes: $0) }
    case .comments:
      let items = try parse(batch) { fields, _ throws(RecordProblem) in
        try FirebaseRecords.Comment(fields, now: now)
      }
      let known = try refer(batch, items) {
        [$0.author]
      } posts: {
        [$0.post]
      }
      try await write(batch, known) { try await writer?.write(comments: $0) }
    case .messages:
      let items = try parse(batch) { fields, place throws(RecordProblem) in
        try FirebaseRecords.Message(fields, place: place, now: now)
      }
      let known = try refer(batch, items) {
        [$0.sender, $0.recipient]
      } posts: { _ in
        []
      }
      try await write(batch, known) { try await writer?.write(messages: $0) }
    case .notifications:
      let items = try parse(batch) { fields, place throws(RecordProblem) in
        try FirebaseRecords.Notification(fields, place: place, now: now)
      }
      let known = try refer(batch, items) {
        [$0.owner, $0.actor]
      } posts: {
        $0.post.map { [$0] } ?? []
      }
      try await write(batch, known) { try await writer?.write(notifications: $0) }
    case .celebs:
      let items = try parse(batch) { fields, _ throws(RecordProblem) in try FirebaseRecords.Celeb(fields, now: now) }
      let known = try refer(batch, items) {
        [$0.fan]
      } posts: { _ in
        []
      }
      try await write(batch, known) { try await writer?.write(celebs: $0) }
    }
  }

  /// The user of a profile that was rejected; nil if it names none.
  private func user(of profile: ImportedRecord) -> String? {
    if let fields = try? RecordFields(profile, mapping), let uid = try? fields.key("user") { return uid }
    guard let uid = mapping.names(in: profile.path, of: .users)?["user"], !uid.utf8.contains(0) else { return nil }
    return uid
  }

  private func parse<Value: Sendable>(
    _ batch: [ImportedRecord], _ read: (RecordFields, String) throws(RecordProblem) -> Value
  ) throws -> [BatchItem<Value>] {
    var items: [BatchItem<Value>] = []
    for (index, record) in batch.enumerated() {
      do throws(RecordProblem) {
        items.append(BatchItem(index: index, value: try read(try RecordFields(record, mapping), record.place)))
      } catch {
        try reject(record, error.description)
      }
    }
    return items
  }

  private func note(_ keys: [String], in filter: inout ReferenceFilter?) {
    for key in keys { filter?.insert(key) }
  }

  /// In a dry run, rejects records that refer to others that are not there.
  private func refer<Value: Sendable>(
    _ batch: [ImportedRecord], _ items: [BatchItem<Value>], users uids: (Value) -> [String],
    posts sources: (Value) -> [String]
  ) throws -> [BatchItem<Value>] {
    guard let users, let posts else { return items }
    var known: [BatchItem<Value>] = []
    for item in items {
      if let uid = uids(item.value).first(where: { !users.contains($0) }) {
        try reject(batch[item.index], FirebaseWriter.unknownUser(uid))
      } else if let post = sources(item.value).first(where: { !posts.contains($0) }) {
        try reject(batch[item.index], FirebaseWriter.unknownPost(post))
      } else {
        known.append(item)
      }
    }
    return known
  }

  /// Writes a batch and notes what became of it. If Postgres refuses a batch because of a value, its records are
  /// written one by one, and those refused again are rejected.
  ///
  /// - Parameter write: returns nil in a dry run.
  /// - Returns: the indices of rejected records.
  @discardableResult
  private func write<Value: Sendable>(
    _ batch: [ImportedRecord], _ items: [BatchItem<Value>],
    _ write: ([BatchItem<Value>]) async throws -> FirebaseOutcome?
  ) async throws -> Set<Int> {
    if items.isEmpty { return [] }
    let kind = batch[items[0].index].kind
    var outcome = FirebaseOutcome()
    do {
      if let written = try await write(items) { outcome.add(written) } else { outcome.added = items.count }
    } catch let error as PostgresError where Self.isOfValue(error) {
      for item in items {
        do {
          if let written = try await write([item]) { outcome.add(written) }
        } catch let error as PostgresError where Self.isOfValue(error) {
          outcome.rejected[item.index] = "Postgres refuses it: \(error.message)"
        }
      }
    }
    report[kind].added += outcome.added
    report[kind].known += outcome.known
    report.externalPictures += outcome.externalPictures
    if kind == .users { report.renamed += outcome.changed.count }
    for (index, change) in outcome.changed.sorted(by: { $0.key < $1.key }) where outcome.rejected[index] == nil {
      try rejected.add(line(batch[index], change, isImported: true), record: batch[index].bytes)
    }
    for (index, reason) in outcome.rejected.sorted(by: { $0.key < $1.key }) { try reject(batch[index], reason) }
    return Set(outcome.rejected.keys)
  }

  /// Whether a statement failed because of a record: a wrong value, a constraint, or a key too long for an index.
  private static func isOfValue(_ error: PostgresError) -> Bool {
    guard error.code == .server, let state = error.sqlState else { return false }
    return state.hasPrefix("22") || state.hasPrefix("23") || state.hasPrefix("54")
  }

  private func reject(_ record: ImportedRecord, _ reason: String) throws {
    report[record.kind].rejected += 1
    var bytes = record.bytes
    // The line of the file holds the record.
    if let kept = bytes, (try? JSONDatum(kept, depth: 1)) == nil { bytes = nil }
    try rejected.add(line(record, reason), record: bytes)
  }

  private func line(_ record: ImportedRecord, _ reason: String, isImported: Bool = false) -> RejectedRecords.Line {
    RejectedRecords.Line(
      kind: record.kind, file: record.file, line: record.line, path: record.path,
      reason: "\(record.file):\(record.line): \(record.place) \(reason)", imported: isImported ? true : nil)
  }
}
