import ArgumentParser
import Bootstrap
import DurableJobsAdmin
import DurableJobsCLI
import Social
import SocialAdmin

struct AuditCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Run every audit and print one verdict; exit 1 unless everything is exact.",
    discussion: """
      Compares feeds, notifications and all counts with their source rows, pictures with their files, and the ledger \
      with the broker in both directions. Changes nothing. pending: differences that pending jobs may resolve. wrong: \
      differences that no job will resolve.
      """)
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { program in
      try await program.withMediaStore { try await audit(program, $0) }
    }
  }

  private func audit(_ program: Program, _ store: any MediaStore) async throws {
    try await common.withAdmin(program) { admin in
      let line = ProgressLine()
      defer { line.clear() }
      let report = try await Audit(admin.database, broker: admin.broker, queues: JobKinds.app.queues, store: store).run
      {
        done, what in
        line.show(Double(done) / Double(Audit.steps), "auditing \(what)")
      }
      line.clear()
      try common.output.one(report) { $0.text }
      if !report.isExact { throw ExitStatus.failure }
    }
  }
}

extension AuditReport {
  fileprivate var text: String {
    let table = Table(
      [
        .state("verdict"), .text("audit"), .number("compared"), .number("differing"), .number("pending"),
      ],
      rows: items.map { item in
        [
          item.verdict.rawValue, item.audit, item.compared.grouped, item.differing.grouped, item.pending.grouped,
        ]
      })
    let sentence =
      switch verdict {
      case .exact: "everything is exact"
      case .pending: "NOT exact yet: pending jobs may resolve the differences; audit again once they are done"
      case .wrong: "NOT exact"
      }
    // A narrow table would cut off the most important part.
    let advice = items.compactMap { item in item.advice.map { "\(item.audit): \($0)\n" } }.joined()
    return table.text(on: .output) + "\n" + advice
      + (Style.ofState(verdict.rawValue)?.paint(sentence, isColored: Terminal.output.isColored) ?? sentence)
  }
}
