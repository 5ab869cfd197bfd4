import HTTPTypes
import Social

/// The limits of accounts and clients, and the buckets that hold their tokens.
public struct RequestBudgets: Sendable {
  let limits: RequestLimits
  private let buckets: TokenBuckets

  public init(limits: RequestLimits, buckets: TokenBuckets) {
    self.limits = limits
    self.buckets = buckets
  }

  /// A token taken from a bucket.
  struct Spent: Sendable {
    let budget: RequestBudget
    let owner: String
    /// The budget's response headers; empty where no budget is kept.
    let headers: HTTPFields
  }

  /// Takes a token from an owner's budget.
  ///
  /// - Throws: `rate_limited`.
  func spend(_ budget: RequestBudget, of owner: String) async throws -> Spent {
    guard budget.limit > 0, let standing = try await buckets.spend(budget.name, limit: budget.limit, of: owner) else {
      return Spent(budget: budget, owner: owner, headers: [:])
    }
    let headers = Self.headers(budget, standing)
    if standing.isAllowed { return Spent(budget: budget, owner: owner, headers: headers) }
    let seconds = Self.seconds(standing.wait)
    var problem = Problem(
      .tooManyRequests, "rate_limited",
      "more than \(budget.limit) \(budget.what) in an hour: try again in \(seconds) seconds", retryAfter: seconds)
    problem.headers = headers
    throw problem
  }

  /// Returns the token of a request that the server could not serve.
  func giveBack(_ spent: Spent) async throws {
    guard spent.budget.limit > 0 else { return }
    try await buckets.giveBack(spent.budget.name, limit: spent.budget.limit, of: spent.owner)
  }

  /// `RateLimit` and `RateLimit-Policy` per the IETF's draft-ietf-httpapi-ratelimit-headers: `r` requests are left for
  /// the next `t` seconds.
  private static func headers(_ budget: RequestBudget, _ standing: TokenBuckets.Standing) -> HTTPFields {
    let time = seconds(standing.isAllowed ? standing.untilFull : standing.wait)
    return [
      .rateLimitPolicy: "\"\(budget.name)\";q=\(budget.limit);w=3600",
      .rateLimit: "\"\(budget.name)\";r=\(standing.left);t=\(time)",
    ]
  }

  private static func seconds(_ milliseconds: Int) -> Int { max(1, (milliseconds + 999) / 1000) }
}
