// swift-tools-version: 6.2
import PackageDescription

// A package that uses the queue and nothing else of Fanmill: `scripts/check-outsider` builds and runs it.
// OUTSIDER_FANMILL is the repository to depend on, OUTSIDER_TRAITS the traits to enable, with commas; none by default.
let fanmill = Context.environment["OUTSIDER_FANMILL"] ?? "https://github.com/fanmill/fanmill"
let traits = (Context.environment["OUTSIDER_TRAITS"] ?? "").split(separator: ",").map(String.init)

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "fanmill") }

/// Names of modules in other packages: those of swift-jobs, Vapor's redis and queues, NIO and more. They are defined
/// here so that the check for collisions needs to fetch no package.
let neighbors = [
  "Crypto", "Hummingbird", "Jobs", "JobsPostgres", "JobsRedis", "NIOCore", "NIOPosix",
  "PostgresNIO", "Queues", "RediStack", "Redis",
]

let package = Package(
  name: "outsider",
  dependencies: [
    .package(url: fanmill, from: "1.0.0", traits: Set(traits.map { .init(stringLiteral: $0) })),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
  ],
  targets: neighbors.map { .target(name: $0, path: "Sources/Neighbors/\($0)") } + [
    .executableTarget(
      name: "outsider",
      dependencies: neighbors.map { .target(name: $0) } + [
        product("DataClients"), product("DurableJobs"), product("DurableJobsAdmin"), product("DurableJobsCLI"),
        product("PrivateServers"), .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "OutsiderTests",
      dependencies: [
        product("DurableJobs"), product("DurableJobsTesting"), .product(name: "Logging", package: "swift-log"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
