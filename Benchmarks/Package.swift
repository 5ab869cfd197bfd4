// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "fanmill-benchmarks",
  dependencies: [
    .package(name: "fanmill", path: "..")
  ],
  targets: [
    .executableTarget(
      name: "fanmill-bench",
      dependencies: [
        .product(name: "Jobs", package: "fanmill"),
        .product(name: "DataClients", package: "fanmill"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
