import DurableJobsPostgres
import LibPQClient

/// The doctor's check for jobs that wait for an operator: dead letters and parked jobs.
struct WorkExamination: Examination {
  let schema: JobsSchema
  let terms: DoctorTerms

  func run(in transaction: PostgresTransaction) async throws -> [Finding] {
    let (dead, parked) = try await schema.deadAndParkedCounts(in: transaction)
    return [
      dead == 0
        ? .ok("dead letters", "none")
        : .warn(
          "dead letters", "\(dead)",
          "`\(terms.command) dead list` shows why; `\(terms.command) dead retry ID` retries one"),
      parked == 0
        ? .ok("parked jobs", "none")
        : .warn(
          "parked jobs", "\(parked) are of a kind or version that no worker knows",
          "start workers of the newer version; `\(terms.command) jobs list --state parked` shows them"),
    ]
  }
}
