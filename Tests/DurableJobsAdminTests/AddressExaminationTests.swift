import LibPQClient
import ProgramTestSupport
import Social
import SocialAdmin
import Testing

@testable import DurableJobsAdmin

@Suite("The doctor's check of email addresses", .timeLimit(.minutes(2)))
struct AddressExaminationTests {
  @Test("Addresses that are one in the normal form are reported, and stay as they are")
  func collisions() async throws {
    try await TestStack.with { stack in
      func examine() async throws -> Finding {
        try await stack.pool.transaction { try await AddressExamination().run(in: $0)[0] }
      }
      let emails = ["\u{fc}ber@example.org", "plain@example.org"]
      for (name, email) in zip(["ann", "bob"], emails) {
        try await stack.pool.execute("INSERT INTO accounts (username, email) VALUES (\(name), \(email))")
      }
      #expect(try await examine().status == .ok)
      try await stack.pool.execute(
        "INSERT INTO accounts (username, email) VALUES ('eve', \("U\u{308}BER@example.org"))")
      let found = try await examine()
      #expect(found.status == .warn && found.detail.contains("eve and ann"))
      #expect(!found.detail.contains("@"), "an address is nobody else's business")
      #expect(try await stack.count("SELECT count(*) FROM accounts") == 3)
    }
  }
}
