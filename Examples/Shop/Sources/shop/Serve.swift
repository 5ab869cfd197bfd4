import ArgumentParser
import DurableJobs
import DurableJobsAdmin
import DurableJobsDashboard
import DurableJobsPostgres
import DurableJobsService
import Foundation
import Hummingbird
import Logging

/// `shop serve`: the worker, and an HTTP server with orders and the dashboard.
struct Serve: AsyncParsableCommand {
  @OptionGroup var servers: Servers
  @Option(help: "The port for HTTP.") var port = 8080
  @Option(help: "The password for /ops.") var password: String

  func run() async throws {
    let (port, password) = (port, password)
    let service = try servers.service(verbose: true)
    try await service.run { parts in
      let dashboard = try Dashboard(
        jobs: JobAdmin(parts.client, kinds: ShopProgram.kinds),
        schedules: ScheduleAdmin(service.schedules, database: parts.database), logger: service.logger)
      let router = Router()
      router.post("/orders/:number") { _, context in
        let number = try context.parameters.require("number", as: Int.self)
        return "\(try await Orders.place(number, parts.client))\n"
      }
      dashboard.mount(on: router, at: "/ops") { request, _ in Self.access(request, password) }
      var application = Application(
        router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
        logger: service.logger)
      application.addServices(dashboard)
      return [application]
    }
  }

  /// Basic authentication with one password: the shop has no accounts of its own.
  private static func access(_ request: Request, _ password: String) -> DashboardAccess {
    let expected = "Basic " + Data("operator:\(password)".utf8).base64EncodedString()
    if request.headers[.authorization] == expected { return .act(as: "operator") }
    return .answer(Response(status: .unauthorized, headers: [.wwwAuthenticate: #"Basic realm="shop""#]))
  }
}
