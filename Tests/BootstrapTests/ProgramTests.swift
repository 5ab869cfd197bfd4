import ArgumentParser
import DurableJobs
import HiredisClient
import LibPQClient
import Logging
import PrivateServers
import Testing

@testable import Bootstrap

struct ProgramTests {
  private func program(_ environment: [String: String], patience: Duration = .milliseconds(10)) throws -> Program {
    Program(
      name: "test", settings: try Settings.read(environment: environment),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, patience: patience)
  }

  @Test func aServerThatAnswersIsUsed() async throws {
    let redis = try await SharedServers.redis()
    let program = try program(["FANMILL_REDIS_URL": redis.url], patience: .seconds(5))
    let answer = try await program.withRedis { client in try await client.send(RedisCommand("PING")) }
    #expect(answer.text == "PONG")
  }

  @Test func aServerThatDoesNotAnswerIsUnreachable() async throws {
    let program = try program(["FANMILL_REDIS_URL": "redis://:hidden@127.0.0.1:\(try FreePort.find())"])
    let error = await #expect(throws: ServerUnreachable.self) { try await program.withRedis { _ in } }
    let failure = try #require(error.flatMap { ProgramFailure($0) })
    #expect(failure.status == ExitStatus.unavailable)
    #expect(failure.line.hasPrefix("cannot reach Redis at redis://127.0.0.1:"))
    #expect(failure.line.contains("FANMILL_REDIS_URL") && !failure.line.contains("hidden"))
  }

  @Test func aWrongPasswordIsAWrongSetting() async throws {
    let redis = try await PrivateRedis.start()
    _ = try await program(["FANMILL_REDIS_URL": redis.url], patience: .seconds(5)).withRedis { client in
      try await client.send(RedisCommand("CONFIG", "SET", "requirepass", "right-password"))
    }
    let url = redis.url.replacing("unix://", with: "unix://:wrong-password@")
    let program = try program(["FANMILL_REDIS_URL": url], patience: .seconds(60))
    let error = await #expect(throws: SettingsError.self) { try await program.withRedis { _ in } }
    let failure = try #require(error.flatMap { ProgramFailure($0) })
    #expect(failure.status == ExitStatus.configuration)
    #expect(failure.line.hasPrefix("FANMILL_REDIS_URL (from the environment): unix://"), "\(failure.line)")
    #expect(!failure.line.contains("wrong-password"))
    await redis.stop()
  }

  @Test func aURLThatCannotBeReadIsAWrongSetting() async throws {
    let program = try program(["FANMILL_REDIS_URL": "rediss://:hidden@h"])
    let error = await #expect(throws: SettingsError.self) { try await program.withRedis { _ in } }
    #expect(error?.description.hasPrefix("FANMILL_REDIS_URL (from the environment): ") == true)
    #expect(error?.description.contains("TLS") == true && error?.description.contains("hidden") == false)
  }

  @Test func bothServersAreThereAtOnce() async throws {
    let program = try program(
      [
        "FANMILL_REDIS_URL": try await SharedServers.redis().url,
        "FANMILL_POSTGRES_URL": try await SharedServers.freshDatabase(),
      ], patience: .seconds(5))
    let sum = try await program.withServers { servers in
      let rows = try await servers.postgres.query("SELECT 40 + \(2)")
      _ = try await servers.redis.send(RedisCommand("PING"))
      return try rows[0].decode(Int.self)
    }
    #expect(sum == 42)
  }

  @Test func aDatabaseThatIsNotThereIsNamed() async throws {
    let url = try await SharedServers.postgres().url(database: "nowhere")
    let error = await #expect(throws: SettingsError.self) {
      try await program(["FANMILL_POSTGRES_URL": url]).withPostgres { _ in }
    }
    #expect(error?.description.contains("database \"nowhere\" does not exist") == true)
  }

  @Test func aPostgresThatDoesNotAnswerIsUnreachable() async throws {
    let url = "postgres://u:hidden@127.0.0.1:\(try FreePort.find())/d"
    let program = try program(["FANMILL_POSTGRES_URL": url])
    let error = await #expect(throws: ServerUnreachable.self) { try await program.withPostgres { _ in } }
    let failure = try #require(error.flatMap { ProgramFailure($0) })
    #expect(failure.status == ExitStatus.unavailable)
    #expect(failure.line.contains("FANMILL_POSTGRES_URL") && !failure.line.contains("hidden"), "\(failure.line)")
  }

  @Test func everyErrorHasItsExitStatus() {
    let statuses: [(any Error, ExitCode)] = [
      (RedisError(.connection, "x"), ExitStatus.unavailable),
      (RedisError(.server, "x"), ExitStatus.failure),
      (PostgresError(.poolExhausted, "x"), ExitStatus.unavailable),
      (PostgresError(.configuration, "x"), ExitStatus.configuration),
      (BrokerError(.unsafeConfiguration, "x"), ExitStatus.configuration),
      (BrokerError(.unavailable, "x"), ExitStatus.unavailable),
      (CancellationError(), ExitStatus.failure),
    ]
    for (error, status) in statuses { #expect(ProgramFailure(error)?.status == status) }
    #expect(ProgramFailure(ExitCode(3)) == nil)
    #expect(ProgramFailure(ValidationError("x")) == nil)
  }
}
