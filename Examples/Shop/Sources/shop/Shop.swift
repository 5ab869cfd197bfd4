import ArgumentParser
import DurableJobs
import DurableJobsAdmin
import DurableJobsCLI
import DurableJobsPostgres
import DurableJobsService
import Logging

@main
struct Shop: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "shop", abstract: "A shop that sends receipts.",
    subcommands: [Serve.self, Buy.self] + QueueCommands<ShopProgram>.all)
}

/// The servers, as every command takes them.
struct Servers: ParsableArguments, Sendable {
  @Option(help: "Redis, such as redis://127.0.0.1:6379.") var redis: String
  @Option(help: "Postgres, such as postgres://127.0.0.1/shop.") var postgres: String
  @Option(help: "The folder that receipts are printed into.") var printer = "."

  func service(verbose isVerbose: Bool = false) throws -> JobService {
    var logger = Logger(label: "shop") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = isVerbose ? .info : .warning
    var service = try JobService(
      redis: redis, postgres: postgres, registry: ShopJobs.registry(Printer(folder: printer)), logger: logger)
    service.prefix = "shop"
    return service
  }
}

/// `shop buy 7`: an order and its receipt's job, in one transaction.
struct Buy: AsyncParsableCommand {
  @OptionGroup var servers: Servers
  @Argument(help: "The order's number.") var order: Int

  func run() async throws {
    let id = try await servers.service().withClient { [order] jobs in try await Orders.place(order, jobs) }
    print(id.description)
  }
}

enum Orders {
  static func place(_ order: Int, _ jobs: JobService.Client) async throws -> JobID {
    try await jobs.transaction { transaction in
      try await transaction.sql.execute("CREATE TABLE IF NOT EXISTS orders (number bigint PRIMARY KEY)")
      try await transaction.sql.execute("INSERT INTO orders VALUES (\(order))")
      guard let id = try await transaction.enqueue(SendReceipt(order: order)) else {
        preconditionFailure("a job without a unique key is always added")
      }
      return id
    }
  }
}

/// Gives the queue's commands access to the shop's servers and jobs.
enum ShopProgram: QueueProgram {
  static var root: any ParsableCommand.Type { Shop.self }
  static let path = "shop"
  static let kinds = JobKinds(ShopJobs.registry(Printer(folder: ".")))
  static let manual = Manual(date: "November 27, 2026")

  static func run(_ settings: Servers, isVerbose: Bool, _ body: (JobService) async throws -> Void) async throws {
    try await body(try settings.service(verbose: isVerbose))
  }
}
