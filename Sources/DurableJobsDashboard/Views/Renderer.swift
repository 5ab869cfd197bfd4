import DurableJobsAdmin
import Foundation
import Mustache

/// Makes pages of their parts: the templates, the frame around them, and a last look that no secret is among the text.
struct Renderer: Sendable {
  private let library: MustacheLibrary
  private let brand: String
  private let menu: [DashboardMenuEntry]
  private let secrets: [(plain: String, escaped: String)]
  /// Changes with the style sheet and the script, so that browsers may keep them.
  private let version = Asset.fingerprint

  /// What no page shows.
  var blotted: [String] { secrets.map(\.plain) }

  /// - Parameters:
  ///   - brand: what the dashboard calls itself.
  ///   - secrets: what no page may show.
  /// - Throws: for a template that is not well-formed, and for two of one name.
  init(brand: String = "", pages: [any DashboardPages] = [], secrets: [String]) throws {
    MarkupText.register()
    var library = MustacheLibrary()
    for (name, text) in Templates.all.map({ ($0, String(decoding: $1, as: UTF8.self)) })
      + pages.flatMap({ Array($0.templates) })
    {
      guard library.getTemplate(named: name) == nil else {
        throw OperationError(.usage, "two templates of the dashboard are called '\(name)'")
      }
      try library.register(MarkupText.pragma + text, named: name)
    }
    self.library = library
    self.brand = brand
    menu = pages.flatMap(\.menu)
    // Anything shorter would take words out of every page.
    self.secrets = Set(secrets).filter { $0.utf8.count >= 8 }.sorted { $0.utf8.count > $1.utf8.count }
      .map { ($0, $0.escaped) }
  }

  /// What stands around a page's own part.
  private struct Frame {
    let title: String
    let brand: String
    let base: String
    let home: String
    let version: String
    let menu: [Item]
    let buttons: [Item]
    let operatorName: String?
    let role: String?
    let canAct: Bool
    let formToken: String?
    let notice: String?
    let pageTemplate: String
    let page: Any

    struct Item {
      let href: String
      let label: String
      let isCurrent: Bool
    }
  }

  /// What stands around a part of a page.
  private struct Part {
    let base: String
    let home: String
    let pageTemplate: String
    let page: Any
  }

  func has(_ template: String) -> Bool { library.getTemplate(named: template) != nil }

  /// A page as the browser gets it.
  ///
  /// - Parameters:
  ///   - route: of the page, by which the menu shows where it is; nil for a page that is nowhere in the menu.
  ///   - visitor: nil for a page outside, without the menu.
  func page(
    _ template: String, title: String, in route: String?, at mount: MountPath, for visitor: Visitor?, _ page: Any
  ) -> String {
    let items = { (kind: DashboardMenuEntry.Kind) in
      visitor == nil
        ? []
        : menu.filter { $0.kind == kind }.map { entry in
          Frame.Item(
            href: mount.link(entry.path), label: entry.label,
            isCurrent: route.map { entry == current(for: $0) } ?? false)
        }
    }
    let frame = Frame(
      title: title, brand: brand, base: mount.base, home: mount.home, version: version, menu: items(.link),
      buttons: items(.button), operatorName: visitor?.actor.name,
      role: visitor.map { $0.mayAct ? "full" : "read-only" }, canAct: visitor?.mayAct ?? false,
      formToken: visitor?.formToken, notice: visitor?.notice, pageTemplate: template, page: page)
    return hide(library.render(frame, withTemplate: "frame") ?? "")
  }

  /// A part of a page, for the live updates.
  func part(_ template: String, at mount: MountPath, _ page: Any) -> String {
    hide(
      library.render(
        Part(base: mount.base, home: mount.home, pageTemplate: template, page: page), withTemplate: "part") ?? "")
  }

  /// The entry of the menu whose page a route is, or below whose page it is: the closest.
  private func current(for route: String) -> DashboardMenuEntry? {
    menu.filter { $0.holds(route) }.max { $0.path.utf8.count < $1.path.utf8.count }
  }

  private func hide(_ text: String) -> String {
    var text = text
    for secret in secrets {
      for form in [secret.plain, secret.escaped] where text.utf8.contains(form) {
        // An accent behind a secret hides none of it.
        text = text.replacingOccurrences(of: form, with: "••••••••", options: .literal)
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
