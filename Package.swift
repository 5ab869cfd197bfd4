// swift-tools-version: 6.2
import Foundation
import PackageDescription

// Warnings are errors where FANMILL_STRICT is set, as CI does; a newcomer's newer compiler may warn and still build.
let strict = Context.environment["FANMILL_STRICT"] != nil

let settings: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + (strict ? [.treatAllWarnings(as: .error)] : [])

// hiredis speaks TLS from 1.0 on, through a library of its own (libhiredis_ssl), where it is built with that; Debian 12
// has 0.14. FANMILL_REDIS_TLS=1 says that the headers are there although not in /usr/include.
let hasRedisTLS =
  Context.environment["FANMILL_REDIS_TLS"] == "1"
  || ["hiredis/hiredis_ssl.h", "openssl/ssl.h"].allSatisfy {
    FileManager.default.fileExists(atPath: "/usr/include/" + $0)
  }
let redisTLS: [Target.Dependency] = hasRedisTLS ? ["CHiredisSSL"] : []

/// A module of the project: listed with what it may import, so that an arrow points only down.
func module(_ name: String, _ dependencies: [Target.Dependency], _ more: [SwiftSetting] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings + more)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: settings)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// A product of another package. SwiftPM resolves a package only where a trait that is on, or no trait at all, asks for
/// one of its products.
///
/// - Parameter traits: those that ask for it, any of which suffices; nil for a product that every user needs.
func outside(_ name: String, _ package: String, for traits: Set<String>? = nil) -> Target.Dependency {
  .product(name: name, package: package, condition: traits.flatMap { .when(traits: $0) })
}

let argumentParser = outside("ArgumentParser", "swift-argument-parser")
let collections = outside("DequeModule", "swift-collections")
let heap = outside("HeapModule", "swift-collections")
let instrumentation = outside("Instrumentation", "swift-distributed-tracing")
let lifecycle = outside("ServiceLifecycle", "swift-service-lifecycle")
let logging = outside("Logging", "swift-log")
let metrics = outside("Metrics", "swift-metrics")
let signals = outside("UnixSignals", "swift-service-lifecycle")

let hummingbird = outside("Hummingbird", "hummingbird", for: ["Dashboard"])
let httpTypes = outside("HTTPTypes", "swift-http-types", for: ["CurlClient", "Dashboard"])
let mustache = outside("Mustache", "swift-mustache", for: ["Dashboard"])
let nioCore = outside("NIOCore", "swift-nio", for: ["Dashboard"])

let configuration = outside("Configuration", "swift-configuration", for: ["App"])
let hummingbirdCore = outside("HummingbirdCore", "hummingbird", for: ["App"])
let nioHTTP1 = outside("NIOHTTP1", "swift-nio", for: ["App"])
let nioPosix = outside("NIOPosix", "swift-nio", for: ["App"])

let package = Package(
  name: "fanmill",
  products: [
    .executable(name: "fanmill", targets: ["fanmill"]),
    .executable(name: "fanmill-api", targets: ["fanmill-api"]),
    .executable(name: "fanmill-worker", targets: ["fanmill-worker"]),
    .library(name: "DurableJobs", targets: ["DurableJobs", "DurableJobsRedis", "DurableJobsPostgres"]),
    .library(name: "DataClients", targets: ["Reactor", "HiredisClient", "LibPQClient"]),
    // Apart from the two others, which every user of the queue has, since it links libcurl.
    .library(name: "CurlClient", targets: ["CurlClient"]),
    // For Benchmarks/, a package of its own.
    .library(name: "PrivateServers", targets: ["PrivateServers"]),
    .library(name: "DurableJobsAdmin", targets: ["DurableJobsAdmin"]),
    .library(name: "DurableJobsCLI", targets: ["DurableJobsCLI"]),
    .library(name: "DurableJobsDashboard", targets: ["DurableJobsDashboard"]),
    .library(name: "DurableJobsTesting", targets: ["DurableJobsTesting"]),
    .library(name: "LocalStack", targets: ["LocalStack", "SocialAdmin"]),
  ],
  traits: [
    .trait(name: "CurlClient", description: "The HTTP and mail client over libcurl"),
    .trait(name: "Dashboard", description: "The queue's pages, for a Hummingbird router"),
    .trait(
      name: "App", description: "Fanmill's own backend and programs", enabledTraits: ["CurlClient", "Dashboard"]),
    .default(enabledTraits: ["App", "Dashboard"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.0.2", traits: ["JSON"]),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.0"),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0", traits: []),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.81.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
    .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
  ],
  targets: [
    .systemLibrary(name: "CLinux"),
    // hiredis ships a pkg-config file with a flag that SwiftPM refuses, so its module map names the library itself.
    .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    // OpenSSL's, which libpq-dev and libcurl's headers bring.
    .systemLibrary(name: "CLibCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),

    module("Locking", []),
    module("Reactor", ["CLinux", "Locking", heap, collections]),
    module(
      "HiredisClient", ["CHiredis", "Reactor", "Locking", collections, logging] + redisTLS,
      hasRedisTLS ? [.define("REDIS_TLS")] : []),
    module("LibPQClient", ["CLibPQ", "Reactor", "Locking", collections, logging]),

    module("Cryptography", ["CLibCrypto"]),
    module("CurlClient", ["CCurl", "Reactor", "Locking", httpTypes, logging]),

    // Starts private Redis and Postgres servers: for tests, `fanmill up`, the demo and the benchmarks.
    module("PrivateServers", ["CLinux", "Locking"]),

    module("DurableJobs", ["Locking", collections, instrumentation, lifecycle, logging, metrics]),
    // For who tests jobs, or writes a broker or a ledger.
    module("DurableJobsTesting", ["DurableJobs", "Locking", collections, logging]),
    module("DurableJobsRedis", ["DurableJobs", "HiredisClient", "Reactor", logging]),
    module("DurableJobsPostgres", ["DurableJobs", "LibPQClient", logging]),

    // Numbered SQL files, applied in order: the app's tables; and, in between, the queue's schema.
    module("Migrations", ["Cryptography", "DurableJobsPostgres", "LibPQClient"]),

    // What an operator looks at and does, for any registry.
    module(
      "DurableJobsAdmin",
      [
        "DurableJobs", "DurableJobsPostgres", "DurableJobsRedis", "HiredisClient", "LibPQClient", "Locking", "Reactor",
        lifecycle, logging,
      ]),

    // The queue's commands, for any executable.
    module(
      "DurableJobsCLI",
      [
        "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres", "DurableJobsRedis", "LibPQClient", "Locking",
        argumentParser, logging, signals,
      ]),

    module(
      "Social",
      [
        "Cryptography", "CurlClient", "DurableJobs", "DurableJobsPostgres", "LibPQClient", "Locking", collections,
        httpTypes, logging, metrics,
      ]),
    // What operators do to the app: audits, lookups, quota, and the app's part of the doctor's round.
    module(
      "SocialAdmin",
      [
        "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres", "DurableJobsRedis", "LibPQClient", "Migrations",
        "Social", logging,
      ]),
    // `fanmill up` and the demo: for the executable `fanmill` and for tests.
    module(
      "LocalStack",
      [
        "Bootstrap", "CLinux", "Cryptography", "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres", "LibPQClient",
        "Locking", "Migrations", "PrivateServers", "Reactor", "Social", logging,
      ]),
    module(
      "SocialAPI",
      [
        "Reactor", "DurableJobsAdmin", "Social", "DurableJobs", "DurableJobsPostgres", "DurableJobsRedis", "Locking",
        "LibPQClient", "HiredisClient", "Cryptography",
        hummingbird, lifecycle, logging, metrics, nioCore,
      ]),
    // The queue's pages, for any Hummingbird router. Its templates and its style sheet are compiled in.
    .target(
      name: "DurableJobsDashboard",
      dependencies: [
        "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres", "DurableJobsRedis", "HiredisClient", "LibPQClient",
        "Locking", "Reactor", httpTypes, hummingbird, lifecycle, logging, mustache,
      ],
      resources: [.embedInCode("Templates"), .embedInCode("Assets")], swiftSettings: settings),
    // The operators' pages under /admin: the queue's, the app's, and the admin tokens that open them.
    .target(
      name: "SocialDashboard",
      dependencies: [
        "DurableJobsAdmin", "DurableJobsDashboard", "DurableJobsPostgres", "LibPQClient", "Social", "SocialAdmin",
        "Cryptography", httpTypes, hummingbird, lifecycle, logging, nioCore,
      ],
      resources: [.embedInCode("Templates")], swiftSettings: settings),
    module(
      "Bootstrap",
      [
        "CLinux", "Cryptography", "DurableJobsAdmin", "SocialAdmin", "Social", "Migrations", "DurableJobs",
        "DurableJobsPostgres", "DurableJobsRedis",
        "CurlClient", "LibPQClient",
        "HiredisClient", "Reactor", "Locking", argumentParser, configuration, httpTypes, hummingbird, lifecycle,
        logging,
        metrics,
        hummingbirdCore, nioCore, nioHTTP1, nioPosix, signals,
      ]),

    program(
      "fanmill-api",
      [
        "Bootstrap", "SocialAPI", "SocialDashboard", "DurableJobsAdmin", "SocialAdmin", "Social", "Migrations",
        "DurableJobs", "DurableJobsPostgres", "DurableJobsRedis", "LibPQClient", "HiredisClient", argumentParser,
        hummingbird, lifecycle, logging,
      ]),
    // A stand-in for the YouTube Data API: for tests, the local stack and the demo.
    module("YouTubeStandIn", ["Locking", hummingbird, lifecycle, logging]),
    program("fanmill-youtube", ["YouTubeStandIn", argumentParser, lifecycle, logging, signals]),
    program(
      "fanmill-worker",
      [
        "Bootstrap", "DurableJobsAdmin", "SocialAdmin", "Social", "DurableJobs", "DurableJobsPostgres",
        "DurableJobsRedis", "LibPQClient",
        "CurlClient",
        "Reactor", argumentParser, lifecycle, logging,
      ]),
    program(
      "fanmill",
      [
        "Bootstrap", "DurableJobsAdmin", "DurableJobsCLI", "SocialAdmin", "LocalStack", "Social", "Migrations",
        "DurableJobs",
        "DurableJobsPostgres", "DurableJobsRedis",
        "Locking", "LibPQClient",
        "HiredisClient", "PrivateServers", argumentParser, lifecycle, logging, signals,
      ]),

    tests(
      "SocialAPITests",
      [
        "SocialAPI", "Bootstrap", "CurlClient", "MailTestSupport", "DurableJobsAdmin", "SocialAdmin", "LocalStack",
        "Social", "Migrations", "DurableJobs",
        "DurableJobsPostgres", "DurableJobsRedis", "TestSupport", "Locking", "LibPQClient", "HiredisClient",
        "Reactor",
        "PrivateServers", logging,
      ]),
    tests(
      "DurableJobsDashboardTests",
      [
        "DurableJobsDashboard", "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres", "JobsTestSupport",
        "TestSupport",
        "Locking", "ProgramTestSupport", httpTypes, hummingbird, logging,
      ]),
    tests(
      "DashboardTests",
      [
        "DurableJobsDashboard", "SocialDashboard", "Reactor", "DurableJobsAdmin", "SocialAdmin", "PrivateServers",
        "ProgramTestSupport", "Social", "DurableJobs", "DurableJobsPostgres", "DurableJobsTesting",
        "JobsTestSupport", "TestSupport", "Locking", "LibPQClient", httpTypes, hummingbird, logging, nioCore,
      ]),
    tests("CryptographyTests", ["Cryptography"]),
    tests("ReactorTests", ["Reactor", "Locking"]),
    tests("HiredisClientTests", ["HiredisClient", "Reactor", "TestSupport", "Locking", "PrivateServers", logging]),
    // A mail server that keeps what it gets.
    .target(
      name: "MailTestSupport", dependencies: ["Locking"], path: "Tests/MailTestSupport", swiftSettings: settings),
    tests(
      "CurlClientTests",
      [
        "CurlClient", "Reactor", "TestSupport", "Locking", "MailTestSupport", "PrivateServers", httpTypes,
        logging,
      ]),
    tests("YouTubeStandInTests", ["YouTubeStandIn", "CurlClient", "Reactor", "Locking", httpTypes, logging]),
    tests("PrivateServersTests", ["PrivateServers"]),
    // What tests share: an awaited condition, random numbers that a seed brings back, logs, a client of Redis.
    .target(
      name: "TestSupport", dependencies: ["HiredisClient", "Locking", "PrivateServers", "Reactor", logging],
      path: "Tests/TestSupport", swiftSettings: settings),
    // What tests of the queue share: a broker on the tests' own Redis, a worker that runs beside a closure, chaos.
    .target(
      name: "JobsTestSupport",
      dependencies: [
        "DurableJobs", "DurableJobsRedis", "HiredisClient", "Locking", "PrivateServers", "TestSupport", lifecycle,
        logging,
      ],
      path: "Tests/JobsTestSupport", swiftSettings: settings),
    tests(
      "ConformanceTests",
      [
        "DurableJobs", "DurableJobsRedis", "DurableJobsPostgres", "DurableJobsTesting", "JobsTestSupport",
        "TestSupport", "Reactor", "Locking",
        "LibPQClient", "PrivateServers",
        "HiredisClient", lifecycle, logging, signals,
      ]),
    tests(
      "DurableJobsTests",
      [
        "DurableJobs", "DurableJobsTesting", "JobsTestSupport", "TestSupport", "Locking", instrumentation, lifecycle,
        logging,
      ]),
    tests(
      "DurableJobsRedisTests",
      [
        "DurableJobs", "DurableJobsRedis", "DurableJobsTesting", "JobsTestSupport", "TestSupport", "Locking",
        "PrivateServers", "HiredisClient", lifecycle,
        logging,
      ]),
    tests("LibPQClientTests", ["LibPQClient", "Reactor", "TestSupport", "Locking", "PrivateServers", logging]),
    tests(
      "MigrationsTests", ["DurableJobsPostgres", "Migrations", "LibPQClient", "Reactor", "PrivateServers", logging]),
    .testTarget(
      name: "DurableJobsPostgresTests",
      dependencies: [
        "DurableJobsPostgres", "DurableJobs", "DurableJobsTesting", "JobsTestSupport", "TestSupport", "LibPQClient",
        "Locking", "Migrations",
        "PrivateServers", logging,
      ],
      exclude: ["Fixtures"], swiftSettings: settings),
    tests(
      "SocialTests",
      [
        "Social", "CurlClient", "MailTestSupport", "Migrations", "DurableJobs", "DurableJobsPostgres",
        "DurableJobsTesting", "TestSupport", "LibPQClient",
        "Reactor", "Locking", "PrivateServers", logging,
      ]),
    // What the tests of programs share: the programs as they were built, and a database and a Redis of a test's own.
    .target(
      name: "ProgramTestSupport",
      dependencies: [
        "DurableJobs", "DurableJobsPostgres", "DurableJobsRedis", "TestSupport", "Migrations", "LibPQClient",
        "PrivateServers", "HiredisClient",
        "Reactor", logging,
      ], path: "Tests/ProgramTestSupport", swiftSettings: settings),
    tests("LocalStackTests", ["DurableJobsAdmin", "LocalStack", "Locking"]),
    tests(
      "DurableJobsAdminTests",
      [
        "DurableJobsAdmin", "SocialAdmin", "LocalStack", "ProgramTestSupport", "DurableJobs", "DurableJobsPostgres",
        "DurableJobsRedis", "DurableJobsTesting", "JobsTestSupport", "TestSupport",
        "Locking",
        "LibPQClient", "PrivateServers", "HiredisClient", "Social", "Cryptography", httpTypes, logging,
      ]),
    tests(
      "CLITests",
      [
        "fanmill", "fanmill-api", "fanmill-worker", "fanmill-youtube", "Bootstrap", "MailTestSupport",
        "DurableJobsAdmin", "DurableJobsCLI", "SocialAdmin", "LocalStack",
        "ProgramTestSupport", "Social", "DurableJobs",
        "DurableJobsPostgres", "DurableJobsRedis", "DurableJobsTesting", "TestSupport", "Locking", "LibPQClient",
        "PrivateServers",
        "HiredisClient",
        "YouTubeStandIn",
      ]),
    // A worker whose jobs stop where a test wants them to; no product.
    .executableTarget(
      name: "TestWorker",
      dependencies: [
        "Bootstrap", "Social", "DurableJobs", "DurableJobsPostgres", "DurableJobsRedis", "LibPQClient", argumentParser,
        lifecycle, logging,
      ],
      path: "Tests/TestWorker", swiftSettings: settings),
    tests(
      "IntegrationTests",
      [
        "TestWorker", "ProgramTestSupport", "DurableJobsAdmin", "SocialAdmin", "Social", "DurableJobs",
        "DurableJobsPostgres",
        "DurableJobsRedis",
        "TestSupport",
        "LibPQClient", "PrivateServers", "HiredisClient", "Reactor", logging,
      ]),
    tests(
      "BootstrapTests",
      [
        "Bootstrap", "CurlClient", "DurableJobsAdmin", "SocialAdmin", "DurableJobs", "TestSupport", "Reactor",
        "Locking", "LibPQClient",
        "PrivateServers", "HiredisClient", "Social", argumentParser, logging, metrics, nioCore,
      ]),
  ],
  swiftLanguageModes: [.v6]
)

if hasRedisTLS {
  package.targets.append(
    .systemLibrary(name: "CHiredisSSL", providers: [.apt(["libhiredis-dev", "libssl-dev"])]))
}
