import DurableJobs
import Foundation
import LibPQClient
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct SearchTests {
  @Test func findsWhatContainsTheWords() async throws {
    try await App.run { app in
      try await app.pool.execute(
        """
        INSERT INTO accounts (username, name, major) VALUES
          ('libc6', 'C library', 'libs'), ('libc-bin', 'Binaries', 'libs'), ('gcc', 'Libellous', 'devel'),
          ('xyz', 'Something', 'LIBRARIES'), ('1st', '100%', ''), ('abc', 'Zoe', 'other'), ('lib', '', ''),
          ('zlib', 'ΟΔΥΣΣΕΥΣ', 'İstanbul'), ('a+b', 'a  b.c\\d', '')
        """)
      let viewer = try await Accounts.id(of: "gcc", in: app.pool)
      try await app.follow(try await Accounts.id(of: "libc6", in: app.pool), by: viewer)
      func find(_ query: String, seenBy viewer: Int = 0) async throws -> [String] {
        try await AccountSearch.find(query, seenBy: viewer, PageRequest(), in: app.pool).items.map(\.account.username)
      }
      #expect(try await find("LIB") == ["lib", "xyz", "gcc", "libc-bin", "libc6", "zlib"])
      #expect(try await find("lib", seenBy: viewer) == ["lib", "xyz", "libc-bin", "libc6", "zlib"])
      #expect(try await find("  libs ") == ["libc-bin", "libc6"])
      #expect(try await find("ibs") == ["libc-bin", "libc6"])
      #expect(try await find("library c6") == ["libc6"])
      #expect(try await find("%") == ["1st"])
      #expect(try await find("_") == [])
      #expect(try await find("00%") == ["1st"])
      #expect(try await find("o") == ["abc", "xyz", "gcc"])
      #expect(try await find("zz") == [])
      #expect(try await find("οδυσσευσ") == ["zlib"])
      #expect(try await find("ευς") == ["zlib"])
      #expect(try await find("i̇stan") == ["zlib"])
      #expect(try await find("b.c\\d") == ["a+b"])
      #expect(try await find("A B.c") == ["a+b"])
      let followed = try await AccountSearch.find("libc6", seenBy: viewer, PageRequest(), in: app.pool)
      #expect(followed.items.first?.isFollowed == true)
      #expect(try await code { _ = try await find("a\0") } == .invalid("query"))
      #expect(try await code { _ = try await find(String(repeating: "가", count: 101)) } == .invalid("query"))
      #expect(try await find(String(repeating: "가", count: 100)) == [])
      #expect(try await find("").count == 9)
    }
  }

  @Test func findsKoreanHoweverItIsTyped() async throws {
    try await App.run { app in
      try await app.pool.execute(
        """
        INSERT INTO accounts (username, name, major) VALUES
          ('one', '김민수', '시각디자인'), ('two', '박김민', '회화'), ('three', '강수', '조소'), ('four', 'ㅋㅋ맨', ''),
          ('five', '이상각', ''), ('six', '값', '')
        """)
      func find(_ query: String) async throws -> [String] {
        try await AccountSearch.find(query, seenBy: 0, PageRequest(), in: app.pool).items.map(\.account.username)
      }
      for form in ["김민", "김민".decomposedStringWithCanonicalMapping] {
        #expect(try await find(form) == ["one", "two"])
      }
      #expect(try await find("민") == ["two", "one"])
      #expect(try await find("ㄱㅁ") == ["one", "two"])
      #expect(try await find("\u{1100}\u{1106}") == ["one", "two"])
      #expect(try await find("김ㅁ") == ["one", "two"])
      #expect(try await find("ㄱ민ㅅ") == ["one"])
      #expect(try await find("강ㅁ") == [])
      #expect(try await find("ㄱㅅ") == ["three"])
      // A keyboard's combination of ㄱ and ㅅ.
      #expect(try await find("ㄳ") == ["three"])
      #expect(try await find("ㅅㄱㄷㅈㅇ") == ["one"])
      #expect(try await find("ㅋㅋ") == ["four"])
      #expect(try await find("ㅋㅋㅁ") == ["four"])
      #expect(try await find("ㅋㅋ맨") == ["four"])
      // The initial of 값 is ㄱ; its final does not count.
      #expect(try await find("ㅄ") == [])
      #expect(try await find("김미") == [])
      let author = try await Accounts.id(of: "one", in: app.pool)
      let post = try await app.post("여름 그림", by: author)
      try await app.client.transaction {
        try await Posts.edit(post, PostChanges(description: "바다에서"), by: author, in: $0.sql)
      }
      for query in ["여름", "름", "ㅇㄹ", "림", "바다", "바다 여름", "그ㄹ", "ㅂㄷ", "바ㄷ"] {
        let found = try await PostSearch.find(query, seenBy: 0, PageRequest(), in: app.pool)
        #expect(found.items.map(\.id) == [post], "\(query)")
      }
      for query in ["ㅂㅅ", "여그", "그림 여울"] {
        #expect(try await PostSearch.find(query, seenBy: 0, PageRequest(), in: app.pool).items.isEmpty, "\(query)")
      }
    }
  }

  /// Compares every page of many searches with a full scan. The rows lie far apart, in several blocks of the index and
  /// on both sides of their ends, so that few are among the nearest.
  @Test func findsWhatALookAtAllFinds() async throws {
    var random = SeededGenerator("findsWhatALookAtAllFinds")
    func text(_ lengths: ClosedRange<Int>, of letters: String = "abAB1 김민강ㄱㅁ가나") -> String {
      let letters = letters.unicodeScalars.map(String.init)
      let count = Int.random(in: lengths, using: &random)
      return NormalForm.shown((0..<count).map { _ in letters.randomElement(using: &random)! }.joined())
    }
    var accounts: [Model] = []
    for number in 0..<300 {
      let username = "u" + String(number) + String((0..<3).map { _ in "abAB1".randomElement(using: &random)! })
      accounts.append(Model(fields: [username, text(0...4), text(0...6)]))
    }
    let queries = (0..<60).map { _ in text(0...4, of: "abAB1 김민강ㄱㅁ가나ㄳ") } + ["u1", "a b", "ㄱ ㅁ"]
    try await App.run { [accounts] app in
      for (index, account) in accounts.enumerated() {
        // The end of a block; or so far that it is not among the nearest.
        let place: String? =
          switch index {
          case 50, 150, 250: "(max(number) + 400000) / 32768 * 32768 - 11"
          case 260, 270, 280, 290: "max(number) + 600"
          default: nil
          }
        if let place {
          for table in ["accounts", "posts"] {
            try await app.pool.execute(
              """
              SELECT setval(pg_get_serial_sequence(\("searched_" + table), 'number'),
                (SELECT \(unescaped: place) FROM searched_\(unescaped: table)))
              """)
          }
        }
        try await app.pool.execute(
          """
          WITH author AS (
            INSERT INTO accounts (username, name, major)
              VALUES (\(account.fields[0]), \(account.fields[1]), \(account.fields[2])) RETURNING id
          ) INSERT INTO posts (author_id, title, description) SELECT id, \(account.fields[1]), \(account.fields[2]) FROM author
          """)
      }
      for query in queries {
        let expected = Model.find(query, in: accounts)
        var found: [String] = []
        var before: Int?
        repeat {
          let page = try await AccountSearch.find(
            query, seenBy: 0, PageRequest(before: before, limit: 40), in: app.pool)
          found += page.items.map(\.account.username)
          before = page.next
        } while before != nil
        #expect(found == expected, "\(query)")
        let posts = Model.findPosts(query, in: accounts)
        var titles: [String] = []
        repeat {
          let page = try await PostSearch.find(query, seenBy: 0, PageRequest(before: before, limit: 40), in: app.pool)
          titles += page.items.map(\.author.username)
          before = page.next
        } while before != nil
        #expect(titles == posts, "\(query)")
      }
    }
  }

  /// Builds the indexes as autovacuum, `pg_restore` and `REINDEX` do.
  @Test func indexesAreMadeWithAnEmptySearchPath() async throws {
    try await App.run { app in
      try await app.pool.execute("INSERT INTO accounts (username, name) VALUES ('one', '김민수')")
      try await app.pool.transaction { transaction in
        try await transaction.executeScript(
          """
          SET LOCAL search_path = '';
          ANALYZE public.searched_accounts, public.searched_posts;
          REINDEX INDEX public.searched_accounts_keys;
          REINDEX INDEX public.searched_posts_keys;
          """)
      }
      let found = try await AccountSearch.find("ㄱㅁ", seenBy: 0, PageRequest(), in: app.pool)
      #expect(found.items.map(\.account.username) == ["one"])
    }
  }

  /// Renamed, edited and deleted rows are found as they are now.
  @Test func followsChanges() async throws {
    try await App.run { app in
      let ann = try await app.account("ann")
      let post = try await app.post("before", by: ann)
      func posts(_ query: String) async throws -> [Int] {
        try await PostSearch.find(query, seenBy: 0, PageRequest(), in: app.pool).items.map(\.id)
      }
      func accounts(_ query: String) async throws -> [Int] {
        try await AccountSearch.find(query, seenBy: 0, PageRequest(), in: app.pool).items.map(\.account.id)
      }
      try await app.client.transaction {
        try await Posts.edit(post, PostChanges(title: "after"), by: ann, in: $0.sql)
      }
      #expect(try await posts("before") == [])
      #expect(try await posts("fte") == [post])
      try await app.pool.execute("UPDATE accounts SET name = '한나' WHERE id = \(ann)")
      #expect(try await accounts("나") == [ann])
      try await app.client.transaction { try await Posts.delete(post, by: ann, in: $0) }
      #expect(try await posts("") == [])
      try await app.pool.execute("DELETE FROM accounts WHERE id = \(ann)")
      #expect(try await accounts("") == [])
      #expect(try await app.pool.query("SELECT count(*) FROM searched_accounts")[0].decode(Int.self) == 0)
      #expect(try await app.pool.query("SELECT count(*) FROM searched_posts")[0].decode(Int.self) == 0)
    }
  }
}

/// The search tables compared with the data.
@Suite(.timeLimit(.minutes(2))) struct SearchAuditTests {
  @Test func findsWhatTriggersDidNotFollow() async throws {
    try await App.run { app in
      let (ann, ben) = (try await app.account("ann"), try await app.account("ben"))
      let post = try await app.post("before", by: ann)
      #expect(try await SearchAudit.run(on: app.pool) == SearchAudit(compared: 3, wrong: 0))
      try await app.pool.transaction { transaction in
        try await transaction.executeScript(
          """
          ALTER TABLE accounts DISABLE TRIGGER USER;
          ALTER TABLE posts DISABLE TRIGGER USER;
          INSERT INTO accounts (username, name) VALUES ('carl', '');
          UPDATE accounts SET name = '김민수' WHERE id = \(ann);
          DELETE FROM accounts WHERE id = \(ben);
          UPDATE posts SET title = 'after' WHERE id = \(post);
          ALTER TABLE accounts ENABLE TRIGGER USER;
          ALTER TABLE posts ENABLE TRIGGER USER;
          """)
      }
      #expect(try await SearchAudit.run(on: app.pool) == SearchAudit(compared: 4, wrong: 4))
      #expect(try await app.pool.query("SELECT remake_search()")[0].decode(Int.self) == 4)
      #expect(try await SearchAudit.run(on: app.pool) == SearchAudit(compared: 3, wrong: 0))
      let found = try await AccountSearch.find("ㄱㅁ", seenBy: 0, PageRequest(), in: app.pool)
      #expect(found.items.map(\.account.id) == [ann])
    }
  }

  /// A search reads all keys that wait to be merged: a single import must not leave many.
  @Test func nothingOfABulkInsertWaits() async throws {
    try await App.run { app in
      try await app.pool.execute(
        "INSERT INTO accounts (username, name) SELECT 'user' || i, 'Name ' || i FROM generate_series(1, 1500) i")
      try await app.pool.execute(
        """
        INSERT INTO posts (id, author_id, title)
        SELECT post_id_at(now()) + id, id, 'Title ' || id FROM accounts
        """)
      for index in ["searched_accounts_keys", "searched_posts_keys"] {
        let waiting = try await app.pool.query("SELECT gin_clean_pending_list(\(index)::regclass)")[0].decode(Int.self)
        #expect(waiting == 0, "\(index) had pages that wait")
      }
      #expect(try await SearchAudit.run(on: app.pool) == SearchAudit(compared: 3_000, wrong: 0))
    }
  }
}

/// An account in the form that a full scan compares, and a post with its name as title and its major as description.
private struct Model {
  let fields: [String]

  private static let initials = Array("ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ".unicodeScalars)

  /// As scalars, since Swift may treat two of them as one character.
  private static func form(_ text: String) -> [Unicode.Scalar] {
    Array(NormalForm.compared(text).split(separator: " ").joined(separator: " ").unicodeScalars)
  }

  private static func query(_ text: String) -> [Unicode.Scalar] { form(text.replacing("ㄳ", with: "ㄱㅅ")) }

  private static func begins(_ text: ArraySlice<Unicode.Scalar>, with word: [Unicode.Scalar]) -> Bool {
    text.count >= word.count
      && zip(text, word).allSatisfy { there, letter in
        there == letter
          || (0xAC00...0xD7A3).contains(there.value) && letter == initials[Int(there.value - 0xAC00) / 588]
      }
  }

  private static func has(_ words: [[Unicode.Scalar]], in forms: [[Unicode.Scalar]]) -> Bool {
    words.allSatisfy { word in
      forms.contains { form in form.indices.contains { begins(form[$0...], with: word) } }
    }
  }

  static func find(_ text: String, in accounts: [Model]) -> [String] {
    let whole = query(text)
    let words = whole.split(separator: " ").map(Array.init)
    let found = accounts.reversed().compactMap { account -> (rank: Int, username: String)? in
      let forms = account.fields.map(form)
      guard has(words, in: forms) else { return nil }
      let begun = forms.filter { begins($0[...], with: whole) }
      let rank = whole.isEmpty || begun.contains { $0.count == whole.count } ? 0 : begun.isEmpty ? 2 : 1
      return (rank, account.fields[0])
    }
    return (0...2).flatMap { rank in found.filter { $0.rank == rank }.map(\.username) }
  }

  static func findPosts(_ text: String, in accounts: [Model]) -> [String] {
    let words = query(text).split(separator: " ").map(Array.init)
    return accounts.reversed().filter { has(words, in: $0.fields[1...].map(form)) }.map { $0.fields[0] }
  }
}
