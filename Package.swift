// swift-tools-version: 6.2
import Foundation
import PackageDescription

// FANMILL_STRICT turns warnings into errors, as in CI. Without it, a newer compiler may warn and the build still
// succeeds.
let strict = Context.environment["FANMILL_STRICT"] != nil

let settings: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + (strict ? [.treatAllWarnings(as: .error)] : [])

// hiredis supports TLS from 1.0 on, in a separate library (libhiredis_ssl), if it was built with TLS; Debian 12 has
// 0.14. FANMILL_REDIS_TLS=1 states that the headers are installed outside /usr/include.
let hasRedisTLS =
  Context.environment["FANMILL_REDIS_TLS"] == "1"
  || ["hiredis/hiredis_ssl.h", "openssl/ssl.h"].allSatisfy {
    FileManager.default.fileExists(atPath: "/usr/include/" + $0)
  }
let redisTLS: [Target.Dependency] = hasRedisTLS ? ["CHiredisSSL"] : []

/// A module of the project and its dependencies, which must be modules listed below it in CONTRIBUTING.md.
func module(_ name: String, _ dependencies: [Target.Dependency], _ more: [SwiftSetting] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings + more)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: settings)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// A product of another package. SwiftPM resolves a package only if one of its products is needed by an enabled trait,
/// or unconditionally.
///
/// - Parameter traits: the traits that need it, any of which suffices; nil for a product that every user needs.
func outside(_ name: String, _ package: String, for traits: Set<String>? = nil) -> Target.Dependency {
  .product(name: name, package: package, condition: traits.flatMap { .when(traits: $0) })
}

let argumentParser = outside("ArgumentParser", "swift-argument-parser")
let collections = outside("DequeModule", "swift-collections")
let heap = outside("HeapModule", "swift-collections")
let instrumentation = outside("Instrumentation", "swift-distributed-tracing")
let tracing = outside("Tracing", "swift-distributed-tracing")
let lifecycle = outside("ServiceLifecycle", "swift-service-lifecycle")
let logging = outside("Logging", "swift-log")
let metrics = outside("Metrics", "swift-metrics")
let signals = outside("UnixSignals", "swift-service-lifecycle")

let hummingbird = outside("Hummingbird", "hummingbird", for: ["Dashboard"])
let httpTypes = outside("HTTPTypes", "swift-http-types", for: ["CurlClient", "Dashboard"])
let mustache = outside("Mustache", "swift-mustache", for: ["Dashboard"])
let nioCore = outside("NIOCore", "swift-nio", for: ["Dashboard"])
let nioHTTPTypes = outside("NIOHTTPTypes", "swift-nio-extras", for: ["Dashboard"])

let crypto = outside("Crypto", "swift-crypto", for: ["Agreements"])
let cryptoExtras = outside("CryptoExtras", "swift-crypto", for: ["Agreements"])

let configuration = outside("Configuration", "swift-configuration", for: ["App"])
let hummingbirdCore = outside("HummingbirdCore", "hummingbird", for: ["App"])
let nioHTTP1 = outside("NIOHTTP1", "swift-nio", for: ["App"])
let nioPosix = outside("NIOPosix", "swift-nio", for: ["App"])

let package = Package(
  name: "fanmill",
  // Linux only for now: the loop uses epoll, and CLinux, Glibc and the private servers are Linux-specific. The macOS
  // version is the minimum for the other code (Synchronization, task executors, Int128).
  platforms: [.macOS(.v15)],
  products: [
    // The queue, for any package.
    .library(
      name: "DurableJobs", targets: ["DurableJobs", "DurableJobsRedis", "DurableJobsPostgres", "DurableJobsService"]),
    .library(name: "DurableJobsAdmin", targets: ["DurableJobsAdmin"]),
    .library(name: "DurableJobsCLI", targets: ["DurableJobsCLI"]),
    // With the trait Dashboard.
    .library(name: "DurableJobsDashboard", targets: ["DurableJobsDashboard"]),
    .library(name: "DurableJobsTesting", targets: ["DurableJobsTesting"]),
    .library(name: "DataClients", targets: ["Reactor", "HiredisClient", "LibPQClient"]),
    // Separate from the other two clients, which every user of the queue has, because it links libcurl. With its trait.
    .library(name: "CurlClient", targets: ["CurlClient"]),

    // A tracer over it, for an OpenTelemetry collector. With the same trait.
    .library(name: "OTLPTracing", targets: ["OTLPTracing"]),

    // The devices' half of agreements, for mobile apps. With its trait.
    .library(name: "Agreements", targets: ["Agreements"]),

    // A client of the app's HTTP API, over Foundation alone, for mobile apps and other programs.
    .library(name: "FanmillClient", targets: ["FanmillClient"]),

    // The app, with the trait App.
    .executable(name: "fanmill", targets: ["fanmill"]),
    .executable(name: "fanmill-api", targets: ["fanmill-api"]),
    .executable(name: "fanmill-worker", targets: ["fanmill-worker"]),

    // For Benchmarks/ and Tests/Outsider/, which are separate packages.
    .library(name: "LocalStack", targets: ["LocalStack", "SocialAdmin"]),
    .library(name: "PrivateServers", targets: ["PrivateServers"]),
  ],
  traits: [
    .trait(name: "CurlClient", description: "The HTTP and mail client over libcurl"),
    .trait(name: "Dashboard", description: "The queue's pages, for a Hummingbird router"),
    .trait(
      name: "App", description: "Fanmill's own backend and programs", enabledTraits: ["CurlClient", "Dashboard"]),
    .trait(name: "Agreements", description: "What devices do that meet and agree, for apps"),
    .default(enabledTraits: ["Agreements", "App", "Dashboard"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.0.2", traits: ["JSON"]),
    .package(url: "https://github.com/apple/swift-crypto.git", from: "4.0.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.0"),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0", traits: []),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.81.0"),
    .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.24.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
    .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
  ],
  targets: [
    .systemLibrary(name: "CLinux"),
    // hiredis's pkg-config file has a flag that SwiftPM refuses, so its module map names the library itself.
    .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    // OpenSSL, installed with libpq-dev and libcurl's headers.
    .systemLibrary(name: "CLibCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),

    module("Locking", []),
    module("Reactor", ["CLinux", "Locking", collections, heap]),
    module(
      "HiredisClient", ["CHiredis", "Reactor", "Locking", collections, logging] + redisTLS,
      hasRedisTLS ? [.define("REDIS_TLS")] : []),
    module("LibPQClient", ["CLibPQ", "Locking", "Reactor", collections, logging]),

    module("Cryptography", ["CLibCrypto"]),
    module("Agreements", [crypto, cryptoExtras]),
    module("FanmillClient", []),
    module("CurlClient", ["CCurl", "Locking", "Reactor", httpTypes, logging]),

    // Starts private Redis and Postgres servers for tests, `fanmill up`, the demo and the benchmarks.
    module("PrivateServers", ["CHiredis", "CLibPQ", "CLinux", "Locking"]),

    module("DurableJobs", ["Locking", collections, instrumentation, lifecycle, logging, metrics, tracing]),
    // For who tests jobs, or writes a broker or a ledger.
    module("DurableJobsTesting", ["DurableJobs", "Locking", collections, logging]),
    module("DurableJobsRedis", ["DurableJobs", "HiredisClient", "Reactor", logging]),
    module("DurableJobsPostgres", ["DurableJobs", "LibPQClient", logging]),

    // A worker from two URLs and a registry.
    module(
      "DurableJobsService",
      [
        "DurableJobs", "DurableJobsPostgres", "DurableJobsRedis", "HiredisClient", "LibPQClient", "Reactor", lifecycle,
        logging, signals,
      ]),

    // Spans for an OpenTelemetry collector.
    module(
      "OTLPTracing",
      ["CurlClient", "DurableJobs", "Locking", "Reactor", httpTypes, instrumentation, lifecycle, logging, tracing]),

    // Numbered SQL files, applied in order: the app's tables; and, in between, the queue's schema.
    module("Migrations", ["Cryptography", "DurableJobsPostgres", "LibPQClient"]),

    // The operators' views and actions, for any registry.
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
        "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres", "DurableJobsRedis", "DurableJobsService",
        "LibPQClient", "Locking", argumentParser, logging, signals,
      ]),

    module(
      "Social",
      [
        "CLinux", "Cryptography", "CurlClient", "DurableJobs", "DurableJobsPostgres", "LibPQClient", "Locking",
        "Reactor", collections, httpTypes, logging, metrics,
      ]),
    // Operators' actions on the app: audits, lookups, quota, and the app's part of the doctor's checks.
    module(
      "SocialAdmin",
      [
        "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres", "DurableJobsRedis", "LibPQClient", "Migrations",
        "Social", logging,
      ]),
    // `fanmill up` and the demo, for the executable `fanmill` and for tests.
    module(
      "LocalStack",
      [
        "Bootstrap", "CLinux", "Cryptography", "CurlClient", "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres",
        "LibPQClient", "Locking", "Migrations", "PrivateServers", "Reactor", "Social", httpTypes, logging,
      ]),
    module(
      "SocialAPI",
      [
        "CLinux", "Cryptography", "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres", "DurableJobsRedis",
        "HiredisClient", "LibPQClient", "Locking", "Reactor", "Social", hummingbird, instrumentation, lifecycle,
        logging, metrics, nioCore, nioHTTPTypes, tracing,
      ]),
    // The queue's pages, for any Hummingbird router. Templates and style sheet are compiled in.
    .target(
      name: "DurableJobsDashboard",
      dependencies: [
        "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres", "DurableJobsRedis", "HiredisClient", "LibPQClient",
        "Locking", "Reactor", httpTypes, hummingbird, lifecycle, logging, mustache,
      ],
      resources: [.embedInCode("Templates"), .embedInCode("Assets")], swiftSettings: settings),
    // The operators' pages under /admin: the queue's pages, the app's pages, and the admin tokens that open them.
    .target(
      name: "SocialDashboard",
      dependencies: [
        "Cryptography", "DurableJobs", "DurableJobsAdmin", "DurableJobsDashboard", "DurableJobsPostgres",
        "DurableJobsRedis", "LibPQClient", "Social", "SocialAdmin", httpTypes, hummingbird, lifecycle, logging, nioCore,
      ],
      resources: [.embedInCode("Templates")], swiftSettings: settings),
    // The web client, which the API serves at its root. Its files are compiled in, by C.
    .target(name: "CFanmillWeb"),
    .target(
      name: "FanmillWeb", dependencies: ["CFanmillWeb", httpTypes, hummingbird], exclude: ["Assets"],
      swiftSettings: settings),
    module(
      "Bootstrap",
      [
        "CLinux", "Cryptography", "CurlClient", "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres",
        "DurableJobsRedis", "HiredisClient", "LibPQClient", "Locking", "Migrations", "OTLPTracing", "Reactor", "Social",
        "SocialAdmin", argumentParser, configuration, instrumentation, httpTypes, hummingbird, hummingbirdCore,
        lifecycle, logging, metrics, nioCore, nioHTTP1,
        nioPosix, signals,
      ]),

    program(
      "fanmill-api",
      [
        "Bootstrap", "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres", "DurableJobsRedis", "FanmillWeb",
        "HiredisClient", "LibPQClient", "Migrations", "Social", "SocialAdmin", "SocialAPI", "SocialDashboard",
        argumentParser, hummingbird, lifecycle, logging,
      ]),
    // A stand-in for the YouTube Data API, for tests, the local stack and the demo.
    module("YouTubeStandIn", ["Locking", hummingbird, lifecycle, logging]),
    program("fanmill-youtube", ["YouTubeStandIn", argumentParser, lifecycle, logging, signals]),
    program(
      "fanmill-worker",
      [
        "Bootstrap", "CurlClient", "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres", "DurableJobsRedis",
        "LibPQClient", "Reactor", "Social", "SocialAdmin", argumentParser, lifecycle, logging,
      ]),
    program(
      "fanmill",
      [
        "Bootstrap", "DurableJobs", "DurableJobsAdmin", "DurableJobsCLI", "DurableJobsPostgres", "DurableJobsRedis",
        "HiredisClient", "LibPQClient", "LocalStack", "Locking", "Migrations", "PrivateServers", "Social",
        "SocialAdmin", argumentParser, lifecycle, logging, signals,
      ]),

    // What `make` builds: one build of all executables takes less time than one for each, and leaves out swift-crypto
    // and the products for phones that need it.
    .target(name: "Programs", dependencies: ["fanmill", "fanmill-api", "fanmill-worker", "fanmill-youtube"]),

    tests(
      "SocialAPITests",
      [
        "Agreements", "Bootstrap", "Cryptography", "CurlClient", "DurableJobs", "DurableJobsAdmin",
        "DurableJobsPostgres", "DurableJobsRedis", "FanmillClient", "HiredisClient", "LibPQClient", "LocalStack",
        "Locking", "MailTestSupport", "Migrations", "PrivateServers", "Reactor", "Social", "SocialAdmin", "SocialAPI",
        "TestSupport", httpTypes, hummingbird, logging,
      ]),
    tests(
      "DurableJobsDashboardTests",
      [
        "DurableJobs", "DurableJobsAdmin", "DurableJobsDashboard", "DurableJobsPostgres", "JobsTestSupport", "Locking",
        "ProgramTestSupport", "TestSupport", httpTypes, hummingbird, logging,
      ]),
    tests(
      "DashboardTests",
      [
        "DurableJobs", "DurableJobsAdmin", "DurableJobsDashboard", "DurableJobsPostgres", "DurableJobsTesting",
        "JobsTestSupport", "LibPQClient", "Locking", "PrivateServers", "ProgramTestSupport", "Reactor", "Social",
        "SocialAdmin", "SocialDashboard", "TestSupport", httpTypes, hummingbird, logging, nioCore,
      ]),
    tests("CryptographyTests", ["Cryptography"]),
    tests("AgreementsTests", ["Agreements", crypto]),
    tests("FanmillClientTests", ["FanmillClient"]),
    tests("ReactorTests", ["Locking", "Reactor"]),
    tests("HiredisClientTests", ["HiredisClient", "Locking", "PrivateServers", "Reactor", "TestSupport", logging]),
    // A mail server that stores the mail it receives.
    .target(
      name: "MailTestSupport", dependencies: ["Locking"], path: "Tests/MailTestSupport", swiftSettings: settings),
    tests(
      "CurlClientTests",
      [
        "CurlClient", "Locking", "MailTestSupport", "PrivateServers", "Reactor", "TestSupport", httpTypes, logging,
      ]),
    tests(
      "OTLPTracingTests",
      [
        "CurlClient", "DurableJobs", "DurableJobsTesting", "Locking", "OTLPTracing", "TestSupport", instrumentation,
        lifecycle, logging, tracing,
      ]),
    tests("YouTubeStandInTests", ["CurlClient", "Locking", "Reactor", "YouTubeStandIn", httpTypes, logging]),
    tests("PrivateServersTests", ["PrivateServers"]),
    // Shared test support: awaiting a condition, reproducible random numbers, logs, a Redis client.
    .target(
      name: "TestSupport", dependencies: ["HiredisClient", "Locking", "PrivateServers", "Reactor", logging],
      path: "Tests/TestSupport", swiftSettings: settings),
    // Shared support for tests of the queue: a broker on the tests' Redis, a worker beside a closure, chaos.
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
        "DurableJobs", "DurableJobsPostgres", "DurableJobsRedis", "DurableJobsService", "DurableJobsTesting",
        "HiredisClient", "JobsTestSupport", "LibPQClient", "Locking", "PrivateServers", "Reactor", "TestSupport",
        lifecycle, logging,
        signals,
      ]),
    tests(
      "DurableJobsTests",
      [
        "DurableJobs", "DurableJobsTesting", "JobsTestSupport", "Locking", "TestSupport", instrumentation, lifecycle,
        logging,
      ]),
    tests(
      "DurableJobsRedisTests",
      [
        "DurableJobs", "DurableJobsRedis", "DurableJobsTesting", "HiredisClient", "JobsTestSupport", "Locking",
        "PrivateServers", "TestSupport", lifecycle, logging,
      ]),
    tests("LibPQClientTests", ["LibPQClient", "Locking", "PrivateServers", "Reactor", "TestSupport", logging]),
    tests(
      "MigrationsTests", ["DurableJobsPostgres", "LibPQClient", "Migrations", "PrivateServers", "Reactor", logging]),
    .testTarget(
      name: "DurableJobsPostgresTests",
      dependencies: [
        "DurableJobs", "DurableJobsPostgres", "DurableJobsTesting", "JobsTestSupport", "LibPQClient", "Locking",
        "Migrations", "PrivateServers", "TestSupport", logging,
      ],
      exclude: ["Fixtures"], swiftSettings: settings),
    tests(
      "SocialTests",
      [
        "Cryptography", "CurlClient", "DurableJobs", "DurableJobsPostgres", "DurableJobsTesting", "LibPQClient",
        "Locking",
        "MailTestSupport", "Migrations", "PrivateServers", "Reactor", "Social", "TestSupport", httpTypes, logging,
      ]),
    // Shared support for tests of programs: the built programs, and a database and a Redis per test.
    .target(
      name: "ProgramTestSupport",
      dependencies: [
        "DurableJobs", "DurableJobsPostgres", "DurableJobsRedis", "HiredisClient", "LibPQClient", "Migrations",
        "PrivateServers", "Reactor", "TestSupport", logging,
      ],
      path: "Tests/ProgramTestSupport", swiftSettings: settings),
    tests("LocalStackTests", ["DurableJobsAdmin", "LocalStack", "Locking"]),
    tests(
      "DurableJobsAdminTests",
      [
        "Cryptography", "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres", "DurableJobsRedis",
        "DurableJobsTesting", "HiredisClient", "JobsTestSupport", "LibPQClient", "LocalStack", "Locking",
        "PrivateServers", "ProgramTestSupport", "Social", "SocialAdmin", "TestSupport", httpTypes, logging,
      ]),
    tests(
      "CLITests",
      [
        "Bootstrap", "DurableJobs", "DurableJobsAdmin", "DurableJobsCLI", "DurableJobsPostgres", "DurableJobsRedis",
        "DurableJobsTesting", "fanmill", "fanmill-api", "fanmill-worker", "fanmill-youtube", "HiredisClient",
        "LibPQClient", "LocalStack", "Locking", "MailTestSupport", "PrivateServers", "ProgramTestSupport", "Social",
        "SocialAdmin", "TestSupport", "YouTubeStandIn",
      ]),
    // A worker whose jobs pause where a test wants them to; not a product.
    .executableTarget(
      name: "TestWorker",
      dependencies: [
        "Bootstrap", "DurableJobs", "DurableJobsPostgres", "DurableJobsRedis", "LibPQClient", "Social", argumentParser,
        lifecycle, logging,
      ],
      path: "Tests/TestWorker", swiftSettings: settings),
    tests(
      "IntegrationTests",
      [
        "DurableJobs", "DurableJobsAdmin", "DurableJobsPostgres", "DurableJobsRedis", "HiredisClient", "LibPQClient",
        "LocalStack", "PrivateServers", "ProgramTestSupport", "Reactor", "Social", "SocialAdmin", "TestSupport",
        "TestWorker", logging,
      ]),
    tests(
      "BootstrapTests",
      [
        "Bootstrap", "CurlClient", "DurableJobs", "DurableJobsAdmin", "HiredisClient", "LibPQClient", "Locking",
        "PrivateServers", "Reactor", "Social", "SocialAdmin", "TestSupport", argumentParser, logging, metrics, nioCore,
      ]),
  ],
  swiftLanguageModes: [.v6],
  // For `#embed`.
  cLanguageStandard: .c2x
)

if hasRedisTLS {
  package.targets.append(
    .systemLibrary(name: "CHiredisSSL", providers: [.apt(["libhiredis-dev", "libssl-dev"])]))
}
