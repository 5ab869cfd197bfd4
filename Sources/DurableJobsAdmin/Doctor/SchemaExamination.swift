import DurableJobsPostgres
import LibPQClient

/// The doctor's check that the queue's schema is as new as this program.
struct SchemaExamination: Examination {
  let schema: JobsSchema
  let terms: DoctorTerms

  func run(in transaction: PostgresTransaction) async throws -> [Finding] {
    do {
      try await schema.check { query throws(PostgresError) in try await transaction.query(query) }
    } catch let error as JobsSchemaError {
      return [.fail("queue's schema", error.message, terms.migrate)]
    }
    return [.ok("queue's schema", "\"\(schema.name)\" is at version \(JobsSchema.newest), which this program needs")]
  }
}
