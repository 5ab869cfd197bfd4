import DurableJobsAdmin

/// Pages of a dashboard: its own, and those that an app adds with its own menu entries, templates and actions.
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
  /// Menu entries, in order.
  var menu: [DashboardMenuEntry] { get }

  /// Mustache templates by name, for the content between a page's header and its end. Names are unique in a dashboard.
  ///
  /// Besides the page's own values, a template can use `base` (the mount's path, which every link begins with),
  /// `canAct`
  /// and `formToken`.
  var templates: [String: String] { get }

  /// Adds the pages and their actions.
  func add(to routes: inout DashboardRoutes)

  /// The page for a finding of the doctor, as an address relative to the mount; nil for an unrelated finding.
  func address(ofFinding name: String) -> String?

  /// The refusal for an error of the app's own; nil for an unknown error.
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

  /// An entry that links to a page.
  ///
  /// - Parameter path: relative to the mount, such as `reports`; pages below it, such as `reports/{id}`, belong to the
  ///   entry.
  public init(_ label: String, path: String) { self.init(label: label, path: path, kind: .link) }

  /// A button below the visitor's name, such as "Sign out": it posts a form to a path that is a form or an action in
  /// `DashboardRoutes`.
  public static func button(_ label: String, posts path: String) -> DashboardMenuEntry {
    DashboardMenuEntry(label: label, path: path, kind: .button)
  }

  private init(label: String, path: String, kind: Kind) {
    self.label = label
    self.path = path
    self.kind = kind
  }

  /// Whether a route is this entry's page, or one below it.
  func holds(_ route: String) -> Bool { kind == .link && (route == path || route.hasPrefix(path + "/")) }
}
