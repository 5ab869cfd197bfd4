import HTTPTypes
import Social

/// One kind of request that an account or a client may make a limited number of times per hour.
struct RequestBudget: Sendable {
  /// The name in `RateLimit`.
  let name: String
  /// The plural noun for the counted requests, for people.
  let what: String
  let limit: Int

  /// The budget that a request spends before its route runs. A lookup's budget is spent where the lookup starts.
  static func spent(by method: HTTPRequest.Method, on path: String?, _ limits: RequestLimits) -> RequestBudget? {
    switch (method, path) {
    case (.post, "/v1/posts"): RequestBudget(name: "posts", what: "posts", limit: limits.posts)
    case (.put, "/v1/users/{name}/follow"): RequestBudget(name: "follows", what: "follows", limit: limits.follows)
    case (.put, "/v1/posts/{id}/like"): RequestBudget(name: "likes", what: "likes", limit: limits.likes)
    case (.post, "/v1/posts/{id}/comments"):
      RequestBudget(name: "comments", what: "comments", limit: limits.comments)
    case (.post, "/v1/media"): RequestBudget(name: "uploads", what: "uploads", limit: limits.uploads)
    case (.post, uploadTokenPath):
      RequestBudget(name: "upload-tokens", what: "upload tokens", limit: limits.uploadTokens)
    case (.post, signUpPath): RequestBudget(name: "sign-ups", what: "new accounts", limit: limits.signUps)
    default: nil
    }
  }

  /// The routes whose budget belongs to the client, because no account exists yet.
  static let signUpPath = "/v1/accounts"
  static let uploadTokenPath = "/v1/media/tokens"

  static func lookups(_ limits: RequestLimits) -> RequestBudget {
    RequestBudget(name: "lookups", what: "lookups", limit: limits.lookups)
  }
}
