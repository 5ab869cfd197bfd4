import ArgumentParser
import Logging
import ServiceLifecycle
import UnixSignals
import YouTubeStandIn

/// A stand-in for the YouTube Data API, for tests and the demo: invented channels, the real format, faults on request.
@main
struct YouTubeProgram: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fanmill-youtube",
    abstract: "Stands in for the YouTube Data API v3: search.list and channels.list with made-up channels.",
    discussion: """
      Point FANMILL_YOUTUBE_URL at the address that it prints; any key works. `fault:NAME` in a query causes a fault, \
      and so does POST /control {"fault": NAME, "times": N, "key": …, "route": "search" or "channels", "seconds": S}; \
      {"fault": null} clears all faults. {"channel": ID, "title": …} renames a channel; without a title it is removed. \
      GET /control counts the calls. Queries with `nobody` in them find nothing.

      Faults: \(StandInFault.allCases.map(\.rawValue).joined(separator: ", ")).
      """)

  @Option(help: "The address to listen on.") var host = "127.0.0.1"
  @Option(help: "The port, 0 for any free one.") var port = 0
  @Option(help: "The minimum time for each response, such as 20ms.") var delay: Milliseconds = Milliseconds(count: 0)
  @Option(help: "The seed that determines which channels exist.") var seed: UInt64 = 1
  @Option(help: "How many searches a key may make per day.") var searchBudget = 100
  @Option(help: "How many units a key may spend per day on other calls, one each.") var unitBudget = 10_000
  @Option(help: "The accepted keys, separated by commas; without it, any.") var keys: String?

  func run() async throws {
    var configuration = StandInConfiguration()
    configuration.delay = .milliseconds(delay.count)
    configuration.seed = seed
    configuration.searchBudget = searchBudget
    configuration.unitBudget = unitBudget
    configuration.keys = keys.map { Set($0.split(separator: ",").map(String.init)) }
    let host = host
    let server = StandInServer(control: StandInControl(configuration: configuration), host: host, port: port) { port in
      print("listening on http://\(host):\(port)/youtube/v3")
    }
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [.init(service: server)], gracefulShutdownSignals: [.sigterm, .sigint],
        logger: Logger(label: "fanmill-youtube") { _ in SwiftLogNoOpLogHandler() }))
    try await group.run()
  }
}

/// A duration in whole milliseconds, optionally followed by `ms`.
struct Milliseconds: ExpressibleByArgument, CustomStringConvertible {
  let count: Int

  init(count: Int) { self.count = count }

  init?(argument: String) {
    guard let count = Int(argument.hasSuffix("ms") ? String(argument.dropLast(2)) : argument), 0...600_000 ~= count
    else { return nil }
    self.count = count
  }

  var description: String { "\(count)ms" }
}
