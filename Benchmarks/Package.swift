// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "fanmill-benchmarks",
  dependencies: [
    .package(name: "fanmill", path: ".."),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
  ],
  targets: [
    // What the same work costs in plain C: the limits beside which Fanmill's figures stand.
    .systemLibrary(name: "CBenchLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .target(name: "CRawLimits", dependencies: ["CBenchLibPQ"], linkerSettings: [.linkedLibrary("hiredis")]),
    .executableTarget(
      name: "fanmill-bench",
      dependencies: [
        "CRawLimits",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
        .product(name: "DurableJobs", package: "fanmill"),
        .product(name: "DataClients", package: "fanmill"),
        .product(name: "DurableJobsAdmin", package: "fanmill"),
        .product(name: "DurableJobsTesting", package: "fanmill"),
        .product(name: "Instrumentation", package: "swift-distributed-tracing"),
        .product(name: "LocalStack", package: "fanmill"),
        .product(name: "OTLPTracing", package: "fanmill"),
        .product(name: "PrivateServers", package: "fanmill"),
      ],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
