import Foundation
import LibPQClient
import PrivateServers
import ProgramTestSupport
import TestSupport
import Testing

@Suite("What a program ends with", .timeLimit(.minutes(5)))
struct ExitStatusTests {
  @Test(
    "Wrong arguments end with 64",
    arguments: [
      ["nonsense"], ["jobs", "enqueue", "posts.fan-out"], ["jobs", "list", "--state", "sleeping"], ["import"],
      ["jobs", "list", "--limit", "0"], ["dead", "retry"], ["dead", "retry", "--all", "x"],
      ["migrate", "down", "--count", "0"],
      ["jobs", "enqueue", "posts.fan-out", "--payload", "{}", "--in", "soon"],
      ["jobs", "enqueue", "posts.fan-out", "--payload", "{}", "--in", "1h", "--at", "2030-01-01T00:00:00Z"],
    ])
  func usage(arguments: [String]) async throws {
    let outcome = try await BuiltProgram("fanmill").run(arguments, environment: nowhere)
    #expect(outcome.status == 64, "\(outcome.errors)")
    #expect(!outcome.errors.isEmpty)
    #expect(outcome.output.isEmpty)
  }

  @Test("An id that cannot be a job's ends with 64")
  func badID() async throws {
    try await TestStack.with { stack in
      _ = try await CLI(stack)("jobs", "show", "not-an-id", status: 64)
    }
  }

  @Test("A setting that is missing or wrong ends with 78 and one line that names it")
  func settings() async throws {
    for (program, arguments) in [("fanmill", ["jobs", "list"]), ("fanmill-worker", [])] {
      let missing = try await BuiltProgram(program).run(arguments, in: "/tmp")
      #expect(missing.status == 78)
      #expect(missing.errors.contains("FANMILL_POSTGRES_URL is not set"))
      #expect(missing.errors.contains("`fanmill up`") == (program == "fanmill"))
      #expect(missing.errors.split(separator: "\n").count == 1)
      let wrong = try await BuiltProgram(program).run(
        arguments, environment: nowhere.merging(["FANMILL_POSTGRES_URL": "http://x"]) { $1 }, in: "/tmp")
      #expect(wrong.status == 78)
      #expect(wrong.errors.contains("FANMILL_POSTGRES_URL"))
    }
    let port = try await BuiltProgram("fanmill-worker").run(
      [], environment: nowhere.merging(["FANMILL_WORKER_PORT": "abc"]) { $1 })
    #expect(port.status == 78)
    #expect(port.errors.contains("FANMILL_WORKER_PORT"))
    let group = try await BuiltProgram("fanmill-worker").run(
      [], environment: nowhere.merging(["FANMILL_MEDIA_CONTROL_GROUP": "/nowhere/pictures"]) { $1 })
    #expect(group.status == 78)
    #expect(group.errors.contains("FANMILL_MEDIA_CONTROL_GROUP") && group.errors.contains("cgroup.procs"))
  }

  @Test(
    "Servers that cannot be reached end with 69 and say which",
    arguments: [("fanmill", ["queues", "list"]), ("fanmill", ["migrate", "up"]), ("fanmill-worker", [])])
  func unreachable(program: String, arguments: [String]) async throws {
    let outcome = try await BuiltProgram(program).run(
      arguments, environment: nowhere.merging(["FANMILL_LOG_LEVEL": "critical"]) { $1 })
    #expect(outcome.status == 69)
    #expect(outcome.errors.contains("cannot reach Postgres (set by FANMILL_POSTGRES_URL)"))
    #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
  }

  @Test("A Postgres that stands still ends a command with 69, before its first statement and during one")
  func frozen() async throws {
    let server = try await PrivatePostgres.start(options: .tests)
    try await TestStack.with(server: server) { stack in
      let settings = stack.settings.merging(["FANMILL_REQUEST_TIMEOUT": "1s", "FANMILL_LOG_LEVEL": "critical"]) { $1 }
      let fanmill = BuiltProgram("fanmill")
      await server.freeze()
      let first = try await fanmill.run(["queues", "list"], environment: settings)
      await server.thaw()
      #expect(first.status == 69, "\(first.errors)")
      try await stack.pool.transaction { transaction in
        _ = try await transaction.execute("LOCK TABLE schedules")
        let running = try fanmill.start(["schedules", "list"], environment: settings)
        try await eventually("the command waits for the table") {
          try await stack.count("SELECT count(*) FROM pg_locks WHERE NOT granted") == 1
        }
        await server.freeze()
        let second = await running.outcome()
        await server.thaw()
        #expect(second.status == 69, "\(second.errors)")
        #expect(second.errors.contains("cannot reach Postgres (set by FANMILL_POSTGRES_URL)"))
      }
    }
    await server.stop()
  }

  @Test("A Postgres that does not let the user in, or has no such database, ends with 78")
  func refused() async throws {
    let url = try await TestStack.emptyDatabase(template: true)
    for (wrong, what) in [("user=nobody", "role"), ("dbname=nowhere", "database")] {
      for (program, arguments) in [("fanmill", ["migrate", "up"]), ("fanmill-worker", [])] {
        let outcome = try await BuiltProgram(program).run(
          arguments,
          environment: nowhere.merging(
            ["FANMILL_POSTGRES_URL": "\(url)&\(wrong)", "FANMILL_LOG_LEVEL": "critical"]) { $1 })
        #expect(outcome.status == 78, "\(outcome.errors)")
        #expect(outcome.errors.contains("FANMILL_POSTGRES_URL"))
        #expect(outcome.errors.contains("FATAL: \(what) "), "\(outcome.errors)")
      }
    }
  }

  @Test("A word that is no command names the nearest")
  func unknownCommand() async throws {
    for (words, hint) in [
      (["jbos", "list"], "there is no command 'fanmill jbos': did you mean 'jobs'?"),
      (["queues", "lst"], "there is no command 'fanmill queues lst': did you mean 'list'?"),
      (["dead", "xyzzy"], "there is no command 'fanmill dead xyzzy'; commands: list, show, retry, edit, delete"),
    ] {
      let outcome = try await BuiltProgram("fanmill").run(words)
      #expect(outcome.status == 64)
      #expect(outcome.errors.contains(hint), "\(outcome.errors)")
    }
    #expect(try await CLI()("jobs", "list", "extra", status: 64).errors.contains("Unexpected argument 'extra'"))
  }

  @Test("What cannot be printed ends with 73")
  func fullDisk() async throws {
    let fanmill = BuiltProgram("fanmill").path
    let outcome = try await BuiltProgram(path: "/bin/sh").run(["-c", "'\(fanmill)' jobs kinds > /dev/full"])
    #expect(outcome.status == 73)
    #expect(outcome.errors == "fanmill: cannot write to the standard output: No space left on device\n")
  }

  @Test("A line that could not be printed on the way ends with 73 too")
  func fullDiskOnTheWay() async throws {
    let fanmill = BuiltProgram("fanmill").path
    let outcome = try await BuiltProgram(path: "/bin/sh").run(
      ["-c", "'\(fanmill)' migrate up > /dev/full"],
      environment: ["FANMILL_POSTGRES_URL": try await TestStack.emptyDatabase(template: true)])
    #expect(outcome.status == 73)
    #expect(outcome.errors == "fanmill: cannot write to the standard output: No space left on device\n")
  }

  @Test("What the environment says of the servers' logs is not said to people")
  func quiet() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack.settings.merging(["FANMILL_LOG_LEVEL": "debug"]) { $1 })
      let quiet = try await cli("queues", "list")
      #expect(quiet.errors == "")
      let asked = try await cli("queues", "list", "--log-level", "debug")
      #expect(asked.errors.contains("connected to Redis"))
    }
  }

  @Test("A Redis that could evict jobs is refused with 78")
  func eviction() async throws {
    var options = PrivateRedis.Options()
    options.maxMemoryPolicy = "allkeys-lru"
    let redis = try await PrivateRedis.start(options: options)
    let settings = [
      "FANMILL_POSTGRES_URL": try await TestStack.emptyDatabase(template: true), "FANMILL_REDIS_URL": redis.url,
    ]
    let worker = try await BuiltProgram("fanmill-worker").run(
      [], environment: settings.merging(["FANMILL_LOG_LEVEL": "critical", "FANMILL_WORKER_PORT": "0"]) { $1 })
    #expect(worker.status == 78)
    #expect(worker.errors.contains("noeviction"))
    let doctor = try await CLI(settings)("doctor", status: 1, isNotified: true)
    #expect(doctor.output.contains("allkeys-lru"))
  }

  @Test("A worker runs jobs and ends with 0 when it is asked to")
  func worker() async throws {
    try await TestStack.with { stack in
      let worker = try BuiltProgram("fanmill-worker").start(
        environment: stack.settings.merging(["FANMILL_WORKER_PORT": "0"]) { $1 })
      try await CLI(stack)("jobs", "enqueue", "feed.partitions", "--payload", "{}")
      try await eventually("the job is done") { try await stack.count("SELECT count(*) FROM jobs") == 0 }
      worker.send(SIGTERM)
      #expect(await worker.outcome().status == 0)
    }
  }

  @Test("The version and the help are printed without any setting")
  func version() async throws {
    #expect(try await CLI()("--version").output.contains("."))
    let help = try await CLI()("--help").output
    #expect(help.contains("FANMILL_POSTGRES_URL"))
  }
}
