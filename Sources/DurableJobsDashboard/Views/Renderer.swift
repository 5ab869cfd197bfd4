import DurableJobsAdmin
import Foundation
import Mustache

/// Renders pages from templates and their frame, and masks secrets in the result.
struct Renderer: Sendable {
  private let library: MustacheLibrary
  private let brand: String
  private let menu: [DashboardMenuEntry]
  private let secrets: [(plain: String, escaped: String)]
  /// Changes with the style sheet and the script, so that browsers can cache them.
  private let version = Asset.fingerprint

  /// Secrets that no page shows.
  var blotted: [String] { secrets.map(\.plain) }

  /// - Parameters:
  ///   - brand: the dashboard's name.
  ///   - secrets: strings that no page may show.
  /// - Throws: for a malformed template, and for two with the same name.
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
    // A shorter secret would mask parts of ordinary words.
    self.secrets = Set(secrets).filter { $0.utf8.count >= 8 }.sorted { $0.utf8.count > $1.utf8.count }
      .map { ($0, $0.escaped) }
  }

  /// The frame around a page's content.
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

  /// The frame around a fragment of a page.
  private struct Part {
    let base: String
    let home: String
    let canAct: Bool
    let formToken: String?
    let pageTemplate: String
    let page: Any
  }

  func has(_ template: String) -> Bool { library.getTemplate(named: template) != nil }

  /// Renders a page for the browser.
  ///
  /// - Parameters:
  ///   - route: the page's route, which marks the current menu entry; nil for a page outside the menu.
  ///   - visitor: nil for an open page, without the menu.
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
    return masked(library.render(frame, withTemplate: "frame") ?? "")
  }

  /// Renders a page's content without the frame, for live updates.
  func part(_ template: String, at mount: MountPath, for visitor: Visitor?, _ page: Any) -> String {
    let part = Part(
      base: mount.base, home: mount.home, canAct: visitor?.mayAct ?? false, formToken: visitor?.formToken,
      pageTemplate: template, page: page)
    return masked(library.render(part, withTemplate: "part") ?? "")
  }

  /// The closest menu entry for a route: its own page, or one above it.
  private func current(for route: String) -> DashboardMenuEntry? {
    menu.filter { $0.holds(route) }.max { $0.path.utf8.count < $1.path.utf8.count }
  }

  /// A text without secrets. What a page shortens is masked before: the rest of a secret would not be recognized.
  func masked(_ text: String) -> String {
    var text = text
    for secret in secrets {
      for form in [secret.plain, secret.escaped] where text.utf8.contains(form) {
        // A combining accent after a secret must not keep it from being masked.
        text = text.replacingOccurrences(of: form, with: "••••••••", options: .literal)
      }
    }
    return text
  }
}

extension String.UTF8View {
  /// Whether the string contains a text, byte for byte.
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
