// swift-tools-version: 6.2
import PackageDescription

// A shop that sends receipts: its worker, its own commands for the queue, its own dashboard at /ops, and its tests. It
// uses the queue's products and nothing else of this repository.
let package = Package(
  name: "shop",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "fanmill", path: "../..", traits: ["Dashboard"]),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
  ],
  targets: [
    .executableTarget(
      name: "shop",
      dependencies: [
        .product(name: "DurableJobs", package: "fanmill"),
        .product(name: "DurableJobsAdmin", package: "fanmill"),
        .product(name: "DurableJobsCLI", package: "fanmill"),
        .product(name: "DurableJobsDashboard", package: "fanmill"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "ShopTests",
      dependencies: ["shop", .product(name: "DurableJobsTesting", package: "fanmill")]),
  ]
)
