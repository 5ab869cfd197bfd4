import DurableJobsAdmin
import HTTPTypes
import Hummingbird

/// A user with access to the dashboard.
struct Visitor: Sendable {
  /// The storage of the form token and the notice.
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

  /// The token that every form must send back.
  var formToken: String {
    switch memory {
    case .session(let session): session.formToken
    case .cookies(let cookies): cookies.formToken
    }
  }

  /// The message for the next page, shown once.
  var notice: String? {
    switch memory {
    case .session(let session): session.notice
    case .cookies(let cookies): cookies.notice
    }
  }

  /// Stores a notice for the next page; nil removes it.
  func leave(_ notice: String?, in response: inout Response) async throws {
    switch memory {
    case .session(let session): try await session.leave(notice)
    case .cookies(let cookies): cookies.leave(notice, in: &response.headers)
    }
  }

  /// Sends the browser the state that its next form needs.
  func begin(in response: inout Response) {
    if case .cookies(let cookies) = memory { cookies.begin(in: &response.headers) }
  }

  /// Compares in constant time, which reveals nothing about a partly correct guess.
  func issued(_ token: String) -> Bool {
    let (guess, right) = (Array(token.utf8), Array(formToken.utf8))
    guard guess.count == right.count, !right.isEmpty else { return false }
    return zip(guess, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
