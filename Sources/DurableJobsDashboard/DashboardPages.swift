import DurableJobsAdmin

/// Pages of a dashboard: its own, and those that an app adds with menu entries, templates and actions of its own.
///
/// ```swift
/// struct ReportPages: DashboardPages {
///   let reports: Reports
///   let menu = [DashboardMenuEntry("Reports", path: "reports")]
///   let templates = ["reports": "<h1>Reports</h1><ul>{{#names}}<li>{{.}}</li>{{/names}}</ul>"]
///
///   func add(to routes: inout DashboardRoutes) {
///     routes.page("reports") { visit in
///       try await visit.page("reports", title: "Reports", ["names": reports.names()])
///     }
///   }
/// }
/// ```
public protocol DashboardPages: Sendable {
  /// Entries of the menu, in their order.
  var menu: [DashboardMenuEntry] { get }

  /// Mustache templates by name: what stands between a page's header and its end. No two of a dashboard share a name.
  ///
  /// Besides the page's own values they find `base` (the mount's path, with which every link begins), `canAct` and
  /// `formToken`.
  var templates: [String: String] { get }

  /// Adds the pages and their actions.
  func add(to routes: inout DashboardRoutes)

  /// Where a finding of the doctor's leads: an address relative to the mount; nil for a finding of others.
  func address(ofFinding name: String) -> String?

  /// How an error of the app's own is shown; nil for an error that is not known here.
  func refusal(of error: any Error) -> DashboardRefusal?
}

extension DashboardPages {
  public var menu: [DashboardMenuEntry] { [] }
  public var templates: [String: String] { [:] }
  public func address(ofFinding name: String) -> String? { nil }
  public func refusal(of error: any Error) -> DashboardRefusal? { nil }
}

/// An entry of the menu.
public struct DashboardMenuEntry: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case link
    /// Below the visitor's name.
    case button
  }

  let label: String
  let path: String
  let kind: Kind

  /// An entry that leads to a page.
  ///
  /// - Parameter path: relative to the mount, such as `reports`; pages below it, such as `reports/{id}`, belong to it.
  public init(_ label: String, path: String) { self.init(label: label, path: path, kind: .link) }

  /// A button below the visitor's name, such as "Sign out": it posts a form to a path that `DashboardRoutes` has as a
  /// form or an action.
  public static func button(_ label: String, posts path: String) -> DashboardMenuEntry {
    DashboardMenuEntry(label: label, path: path, kind: .button)
  }

  private init(label: String, path: String, kind: Kind) {
    self.label = label
    self.path = path
    self.kind = kind
  }

  /// Whether a route is this entry's page, or one below.
  func holds(_ route: String) -> Bool { kind == .link && (route == path || route.hasPrefix(path + "/")) }
}
