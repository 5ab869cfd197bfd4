import DurableJobsAdmin
import HTTPTypes
import Hummingbird

/// A user with access to the dashboard.
struct Visitor: Sendable {
  /// Where the form token and the notice are.
  enum Memory: Sendable {
    case session(any DashboardSession)
    case cookies(CookieMemory)
  }

  let actor: Operator
  private let memory: Memory

  init(_ actor: Operator, _ memory: Memory) {
    self.actor = actor
    self.memory = memory
  }

  var mayAct: Bool { actor.role == .full }

  /// Comes with every form and has to come back.
  var formToken: String {
    switch memory {
    case .session(let session): session.formToken
    case .cookies(let cookies): cookies.formToken
    }
  }

  /// What the next page says, once.
  var notice: String? {
    switch memory {
    case .session(let session): session.notice
    case .cookies(let cookies): cookies.notice
    }
  }

  /// Keeps a notice for the next page; nil forgets it.
  func leave(_ notice: String?, in response: inout Response) async throws {
    switch memory {
    case .session(let session): try await session.leave(notice)
    case .cookies(let cookies): cookies.leave(notice, in: &response.headers)
    }
  }

  /// Gives the browser what its next form needs.
  func begin(in response: inout Response) {
    if case .cookies(let cookies) = memory { cookies.begin(in: &response.headers) }
  }

  /// Compared in a time that says nothing about how much of a guess is right.
  func issued(_ token: String) -> Bool {
    let (guess, right) = (Array(token.utf8), Array(formToken.utf8))
    guard guess.count == right.count, !right.isEmpty else { return false }
    return zip(guess, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
