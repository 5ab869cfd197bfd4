import Bootstrap
import Hummingbird
import ServiceLifecycle
import SocialAPI
import SocialDashboard

extension Program {
  /// The API's server, and the operators' own where `FANMILL_ADMIN_PORT` is set; without it the API's port has both.
  func doors(_ api: SocialAPI, dashboard: SocialDashboard, health: Health) -> [any Service] {
    let operators: SocialAPI.Doors = settings.adminPort == nil ? [.clients, .operators] : .operators
    var limits = settings.connectionLimits
    limits.proxies = settings.trustedProxies
    let behindAdmin = HTTPService(
      responder: Mount(
        dashboard.responder { router in
          router.add(middleware: RequestTracing())
          router.add(middleware: RequestMetrics())
          router.add(middleware: RequestDeadline(settings.requestTimeout))
        },
        beside: api.responder(for: operators) { health.addRoutes(to: $0) }),
      host: settings.host, port: settings.adminPort ?? settings.apiPort,
      setting: settings.adminPort == nil ? .apiPort : .adminPort, limits: limits, logger: logger)
    guard settings.adminPort != nil else { return [behindAdmin] }
    let clients = HTTPService(
      responder: api.responder(for: .clients) { health.addHealth(to: $0) },
      host: settings.host, port: settings.apiPort, setting: .apiPort, limits: limits,
      logger: logger)
    return [behindAdmin, clients]
  }
}
