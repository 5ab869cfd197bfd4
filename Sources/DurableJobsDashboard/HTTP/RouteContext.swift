import Hummingbird
import Logging

/// A request's context within the dashboard's own routes; the app's stays beside it.
struct RouteContext: RequestContext {
  struct Source: RequestContextSource {
    let outer: any RequestContext
    let admission: Admission

    var logger: Logger { outer.logger }
  }

  /// Shared with the app's, so that its metrics see the route.
  var coreContext: CoreRequestContextStorage
  /// As the app's router made it.
  let outer: any RequestContext
  let admission: Admission

  init(source: Source) {
    coreContext = source.outer.coreContext
    outer = source.outer
    admission = source.admission
  }

  var maxUploadSize: Int { DashboardForm.limit }
}

/// A context that can end its request's connection. Live updates end that of a browser that does not read them; with
/// any other context such a browser keeps its stream for as long as the server keeps the connection.
public protocol HangUpRequestContext: RequestContext {
  /// Ends the connection, whatever is being written to it.
  var hangUp: @Sendable () -> Void { get }
}
