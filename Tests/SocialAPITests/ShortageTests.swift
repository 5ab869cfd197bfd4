import Foundation
import LibPQClient
import Testing

/// The API's responses when Postgres has run out of a resource.
@Suite(.timeLimit(.minutes(5))) struct ShortageTests {
  /// Replaces a table's file with a device on which every write fails with a full disk.
  private func fill(_ table: String, of api: API) async throws -> String {
    let (folder, path) = try await api.pool.query(
      "SELECT current_setting('data_directory'), pg_relation_filepath(\(table))")[0].decode(String.self, String.self)
    let file = "\(folder)/\(path)"
    #expect(try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int == 0, "nothing is in it that is lost")
    try FileManager.default.moveItem(atPath: file, toPath: file + ".kept")
    try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "/dev/full")
    return file
  }

  private func makeRoom(_ file: String, _ api: API) async throws {
    try FileManager.default.removeItem(atPath: file)
    try FileManager.default.moveItem(atPath: file + ".kept", toPath: file)
    // Sessions keep files open, including the one that runs this.
    let ended = await #expect(throws: PostgresError.self) {
      try await api.pool.execute(
        """
        SELECT pg_terminate_backend(pid) FROM (
          SELECT pid FROM pg_stat_activity WHERE datname = current_database() ORDER BY pid = pg_backend_pid() OFFSET 0
        ) AS sessions
        """)
    }
    #expect(ended?.code == .connection)
  }

  @Test func aFullDiskIsSaidAndReadingGoesOn() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let file = try await fill("posts", of: api)
      let refused = try await api.send("POST", "/v1/posts", as: ann, key: "k", #"{"title":"one"}"#)
      #expect((refused.status, refused.code) == (503, "storage_full"))
      #expect(refused.headers["retry-after"] == "30")
      #expect(refused.headers["content-type"] == "application/problem+json")
      let detail = try #require(refused.json["detail"] as? String)
      #expect(detail.contains("is full") && !detail.contains("SQLSTATE") && !detail.contains(file))
      #expect(try await api.send("GET", "/v1/me", as: ann).status == 200)
      #expect(try await api.send("GET", "/v1/feed/home", as: ann).items.isEmpty)
      #expect(try await api.count("SELECT count(*) FROM jobs") == 0, "no half of it is kept")

      try await makeRoom(file, api)
      var again = refused
      while again.status == 503 {
        again = try await api.send("POST", "/v1/posts", as: ann, key: "k", #"{"title":"one"}"#)
      }
      #expect(again.status == 201, "\(again.json)")
      #expect(try await api.count("SELECT count(*) FROM jobs WHERE kind = 'posts.fan-out'") == 1)
    }
  }

  @Test(arguments: ["53000", "53200", "53300", "53400", "57P03"])
  func aServerThatHasRunOutOfSomethingElseIsAwayForAWhile(sqlState: String) async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      try await api.pool.execute(
        """
        CREATE FUNCTION run_out() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'out of it' USING ERRCODE = TG_ARGV[0]; END $$
        """)
      try await api.pool.execute(
        PostgresQuery(
          unescaped: "CREATE TRIGGER t BEFORE INSERT ON posts FOR EACH ROW EXECUTE FUNCTION run_out('\(sqlState)')"))
      let refused = try await api.send("POST", "/v1/posts", as: ann, #"{"title":"one"}"#)
      #expect((refused.status, refused.code) == (503, "unavailable"))
      #expect(refused.headers["retry-after"] == "2")
      #expect(try await api.send("GET", "/v1/me", as: ann).status == 200)
    }
  }

  @Test func whatTryingAgainDoesNotCureIsStillTheServersFault() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      try await api.pool.execute("ALTER TABLE posts RENAME TO gone")
      let failed = try await api.send("POST", "/v1/posts", as: ann, #"{"title":"one"}"#)
      #expect((failed.status, failed.code) == (500, "internal"))
    }
  }
}
