import DurableJobsDashboard
import HTTPTypes
import Social

extension DashboardRefusal {
  /// The refusal for an error of the app; nil for any other error.
  init?(ofSocial error: any Error) {
    if let moved = error as? AccountMoved {
      self.init(.notFound, "Not possible", "The account '\(moved.from)' is now called '\(moved.to)'.")
      return
    }
    guard let error = error as? SocialError else { return nil }
    switch error.code {
    case .tooManyAttempts:
      let message = error.message.prefix(1).uppercased() + error.message.dropFirst() + "."
      self.init(.tooManyRequests, "Too many attempts", message, retryAfter: error.retryAfter)
    case .notFound: self.init(.notFound, "Not possible", error.message)
    default: self.init(.unprocessableContent, "Not possible", error.message)
    }
  }
}
