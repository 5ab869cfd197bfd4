// swift-tools-version: 6.2
import PackageDescription

// Five small apps, screen by screen in a terminal, over FanmillClient and a running stack. Only the one with agreements
// needs more than the client: the trait Agreements has the devices' half of the protocol.
let package = Package(
  name: "screens",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "fanmill", path: "../..", traits: ["Agreements"])
  ],
  targets: [
    .executableTarget(
      name: "screens",
      dependencies: [
        .product(name: "Agreements", package: "fanmill"),
        .product(name: "FanmillClient", package: "fanmill"),
      ],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ])
  ]
)
