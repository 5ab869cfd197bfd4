import Foundation

/// The address of a page of the app, with a placeholder for a token, such as the page where a new password is chosen.
public struct TokenLink: Sendable {
  /// The placeholder for the token.
  public static let place = "{token}"

  private let template: String

  /// - Parameter template: such as `https://app.example/reset?token={token}`.
  /// - Returns: nil unless it is such a URL, in ASCII, with the placeholder.
  public init?(_ template: String) {
    let sample = template.replacing(Self.place, with: "token")
    guard sample != template, sample.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), sample.utf8.count <= 900,
      let url = URL(string: sample), url.scheme == "https" || url.scheme == "http", url.host != nil
    else { return nil }
    self.template = template
  }

  func address(with token: SessionToken) -> String { template.replacing(Self.place, with: token.text) }
}
