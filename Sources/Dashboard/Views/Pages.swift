import Crypto
import DurableJobsAdmin
import Foundation
import HTTPTypes
import Hummingbird
import Mustache

/// Makes pages of their parts: the templates, the frame around them, and a last look that no secret is among the text.
struct Pages: Sendable {
  private let library: MustacheLibrary
  private let secrets: [(plain: String, escaped: String)]
  /// What is blotted out of every page.
  var blotted: [String] { secrets.map(\.plain) }
  /// Changes with the style sheet and the script, so that browsers may keep them.
  let version: String

  /// - Parameter secrets: what no page may show.
  /// - Throws: for a template that is not well-formed.
  init(secrets: [String]) throws {
    var library = MustacheLibrary()
    for (name, text) in Templates.all { try library.register(String(decoding: text, as: UTF8.self), named: name) }
    self.library = library
    // Anything shorter would take words out of every page.
    self.secrets = Set(secrets).filter { $0.utf8.count >= 8 }.sorted { $0.utf8.count > $1.utf8.count }
      .map { ($0, $0.escaped) }
    var hash = SHA256()
    for asset in Asset.all { hash.update(data: asset.bytes) }
    version = hash.finalize().prefix(6).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// What stands around a page's own part.
  struct Frame {
    let title: String
    let version: String
    let nav: [Item]
    let operatorName: String?
    let role: String?
    let canAct: Bool
    let formToken: String?
    let notice: String?
    let page: Any

    struct Item {
      let href: String
      let label: String
      let isCurrent: Bool
    }
  }

  /// The places that the navigation leads to.
  static let places: [(path: String, label: String)] = [
    ("/admin", "Overview"), ("/admin/queues", "Queues"), ("/admin/jobs", "Jobs"), ("/admin/dead", "Dead letters"),
    ("/admin/workers", "Workers"), ("/admin/schedules", "Schedules"), ("/admin/fan-outs", "Fan-outs"),
    ("/admin/rankings", "Rankings"), ("/admin/quota", "Quota"), ("/admin/actions", "Actions"),
  ]

  /// A page as the browser gets it.
  ///
  /// - Parameters:
  ///   - place: the path among `places` under which the page is.
  ///   - session: nil for a page that anybody may see.
  func render(
    _ template: String, title: String, at place: String?, for session: AdminSession?, _ page: Any
  ) -> String {
    let frame = Frame(
      title: title, version: version,
      nav: session == nil
        ? []
        : Self.places.map { Frame.Item(href: $0.path, label: $0.label, isCurrent: $0.path == place) },
      operatorName: session?.actor.name, role: session.map { $0.mayAct ? "full" : "read-only" },
      canAct: session?.mayAct ?? false, formToken: session?.formToken, notice: session?.notice, page: page)
    return hide(library.render(frame, withTemplate: template) ?? "")
  }

  /// A part of a page, for the live updates.
  func part(_ template: String, _ page: Any) -> String { hide(library.render(page, withTemplate: template) ?? "") }

  private func hide(_ text: String) -> String {
    var text = text
    for secret in secrets {
      for form in [secret.plain, secret.escaped] where text.utf8.contains(form) {
        text = text.replacingOccurrences(of: form, with: "••••••••")
      }
    }
    return text
  }
}

extension String.UTF8View {
  /// Whether a text is part of this one, byte for byte.
  fileprivate func contains(_ text: String) -> Bool {
    let sought = Array(text.utf8)
    guard let first = sought.first else { return false }
    return withContiguousStorageIfAvailable { bytes in
      var from = bytes.startIndex
      while let found = bytes[from...].firstIndex(of: first) {
        if bytes[found...].starts(with: sought) { return true }
        from = found + 1
      }
      return false
    } ?? false
  }
}

/// The templates, compiled in.
enum Templates {
  static let all: [(name: String, text: [UInt8])] = [
    ("frame", PackageResources.frame_mustache),
    ("message", PackageResources.message_mustache),
    ("confirm", PackageResources.confirm_mustache),
    ("sign-in", PackageResources.sign_in_mustache),
    ("overview", PackageResources.overview_mustache),
    ("overview-parts", PackageResources.overview_parts_mustache),
    ("chart", PackageResources.chart_mustache),
    ("queues", PackageResources.queues_mustache),
    ("queue", PackageResources.queue_mustache),
    ("jobs", PackageResources.jobs_mustache),
    ("job-rows", PackageResources.job_rows_mustache),
    ("job", PackageResources.job_mustache),
    ("dead", PackageResources.dead_mustache),
    ("workers", PackageResources.workers_mustache),
    ("schedules", PackageResources.schedules_mustache),
    ("fan-outs", PackageResources.fan_outs_mustache),
    ("rankings", PackageResources.rankings_mustache),
    ("quota", PackageResources.quota_mustache),
    ("actions", PackageResources.actions_mustache),
  ]
}

/// A file that pages load.
struct Asset: Sendable {
  let name: String
  let type: String
  let bytes: [UInt8]

  static let all = [
    Asset(name: "style.css", type: "text/css; charset=utf-8", bytes: PackageResources.style_css),
    Asset(name: "live.js", type: "text/javascript; charset=utf-8", bytes: PackageResources.live_js),
    Asset(name: "icon.svg", type: "image/svg+xml", bytes: PackageResources.icon_svg),
  ]
}
