import ArgumentParser
import Bootstrap
import DurableJobs
import Migrations
import Operations

struct DoctorCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Look at the servers, the schema, the clocks and the workers; exit 1 if something does not work.")
  @OptionGroup var common: CommonOptions
  @OptionGroup var migrations: MigrateCommand.MigrationsOption

  func run() async throws {
    try await common.run { program in
      let doctor = Doctor(
        postgres: try program.settings.postgresConfiguration(),
        replica: try program.settings.postgresReplicaConfiguration(),
        redis: try program.settings.redisConfiguration(),
        migrations: try migrations.all(), queues: JobKinds.app.queues,
        lookups: program.settings.lookupRules, logger: program.logger)
      let findings = await doctor.examine()
      try common.output.list(findings, empty: "nothing was looked at") { findings in
        Table(
          [.state(""), .text("what"), .elastic("found")],
          rows: findings.map { [$0.status.rawValue, $0.name, $0.detail] })
      }
      // In a narrow table what matters most would be cut off.
      for finding in findings {
        guard let advice = finding.advice else { continue }
        common.output.say("\n\(finding.name): \(finding.detail)\n  \(advice)")
      }
      if findings.contains(where: { $0.status == .fail }) { throw ExitStatus.failure }
    }
  }
}
