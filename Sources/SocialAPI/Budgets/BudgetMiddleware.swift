import Hummingbird
import Social

/// Spends from the account's or client's budget before a budgeted route runs, and reports the remainder in the response
/// headers.
struct BudgetMiddleware: RouterMiddleware {
  /// nil disables budgets.
  let budgets: RequestBudgets?

  func handle(
    _ request: Request, context: APIContext, next: (Request, APIContext) async throws -> Response
  ) async throws -> Response {
    guard let budgets,
      let budget = RequestBudget.spent(by: request.method, on: context.endpointPath, budgets.limits),
      let owner = Self.owner(context)
    else { return try await next(request, context) }
    let spent = try await budgets.spend(budget, of: owner)
    do {
      var response = try await next(request, context)
      response.headers.append(contentsOf: spent.headers)
      return response
    } catch {
      // A server failure does not count against the client.
      if (Problem(error) ?? .internalError).status >= 500 { try await budgets.giveBack(spent) }
      throw error
    }
  }

  /// nil for a request without a session, which its route refuses.
  private static func owner(_ context: APIContext) -> String? {
    if [RequestBudget.signUpPath, RequestBudget.uploadTokenPath].contains(context.endpointPath) {
      return "c\(context.client.key)"
    }
    return context.session.map { "a\($0.viewer.id)" }
  }
}
