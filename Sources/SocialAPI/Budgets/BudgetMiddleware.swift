import Hummingbird
import Social

/// Spends an account's or a client's budget before a route that has one does anything, and says in the answer what is
/// left.
struct BudgetMiddleware: RouterMiddleware {
  /// nil where everybody may do as much as they like.
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
      // What the server could not do is not the client's spending.
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
