import DurableJobsAdmin
import LibPQClient
import Social

/// The doctor's check for email addresses with different spellings but the same normal form.
public struct AddressExamination: Examination {
  public init() {}

  public func run(in transaction: PostgresTransaction) async throws -> [Finding] {
    let collisions = try await EmailAddresses.collisions(in: transaction)
    if collisions.isEmpty { return [.ok("email addresses", "each belongs to one account, whatever its spelling")] }
    let pairs = collisions.prefix(5).map { "\($0.username) and \($0.other)" }.joined(separator: ", ")
    let more = collisions.count > 5 ? " and \(collisions.count - 5) more" : ""
    return [
      .warn(
        "email addresses", "the same except for case or composition: \(pairs)\(more)",
        "the first of each pair cannot sign in with its address: change its email in the table accounts; nothing is "
          + "merged"
      )
    ]
  }
}
