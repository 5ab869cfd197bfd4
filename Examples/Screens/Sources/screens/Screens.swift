import FanmillClient
import Foundation

/// Walks through an app's screens against a running stack.
@main enum Screens {
  private static let apps: [(name: String, walk: @Sendable (Walk) async throws -> Void)] = [
    ("fans", FansApp.walk), ("notifications", NotificationsApp.walk), ("agreements", AgreementsApp.walk),
    ("photos", PhotosApp.walk), ("students", StudentsApp.walk),
  ]

  static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard arguments.count == 3, arguments[1] == "--url", let url = URL(string: arguments[2]), url.host != nil,
      let app = apps.first(where: { $0.name == arguments[0] })
    else {
      print("usage: screens \(apps.map(\.name).joined(separator: "|")) --url http://127.0.0.1:8080")
      exit(64)
    }
    let walk = Walk(FanmillClient(url: url, userAgent: "screens"))
    do {
      try await walk.within(.seconds(120)) { try await app.walk(walk) }
    } catch let error as FanmillError {
      walk.differs("the app stopped: \(error)" + (error.requestID.map { ", request \($0)" } ?? ""))
    } catch {
      walk.differs("the app stopped: \(error)")
    }
    print(walk.differences == 0 ? "\n\(app.name): as expected" : "\n\(app.name): \(walk.differences) different")
    exit(walk.differences == 0 ? 0 : 1)
  }
}
