import ArgumentParser
import DurableJobs
import DurableJobsAdmin

struct DoctorCommand<P: QueueProgram>: AsyncParsableCommand, Sendable {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "doctor",
      abstract: "Check the servers, the schema, the clocks and the workers; exit 1 if a check fails.")
  }
  @OptionGroup var common: CommandOptions<P>
  @OptionGroup var options: P.DoctorOptions

  func run() async throws {
    try await common.run { session in
      let doctor = try P.doctor(session, options)
      let findings = await doctor.examine()
      try common.output.list(findings, empty: "nothing was checked") { findings in
        Table(
          [.state(""), .text("what"), .elastic("found")],
          rows: findings.map { [$0.status.rawValue, $0.name, $0.detail] })
      }
      // A narrow table would cut off the advice, which matters most.
      for finding in findings {
        guard let advice = finding.advice else { continue }
        common.output.say("\n\(finding.name): \(finding.detail)\n  \(advice)")
      }
      if findings.contains(where: { $0.status == .fail }) { throw CommandStatus.failure }
    }
  }
}
