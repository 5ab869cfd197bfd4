import Hummingbird
import Logging

/// A request's context within the dashboard's own routes, beside the app's.
struct RouteContext: RequestContext {
  struct Source: RequestContextSource {
    let outer: any RequestContext
    let admission: Admission

    var logger: Logger { outer.logger }
  }

  /// Shared with the app's context, so that its metrics see the route.
  var coreContext: CoreRequestContextStorage
  /// The context made by the app's router.
  let outer: any RequestContext
  let admission: Admission

  init(source: Source) {
    coreContext = source.outer.coreContext
    outer = source.outer
    admission = source.admission
  }

  var maxUploadSize: Int { DashboardForm.limit }
}

/// A context that can close its request's connection. Live updates close the connection of a browser that does not read
/// them. With any other context such a browser keeps its stream as long as the server keeps the connection.
public protocol HangUpRequestContext: RequestContext {
  /// Closes the connection, even during a write.
  var hangUp: @Sendable () -> Void { get }
}
