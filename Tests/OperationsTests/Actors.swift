import Operations

extension Actor {
  static let tester = Actor(name: "tester")
  /// Somebody who may only look.
  static let visitor = Actor(name: "visitor", role: .readOnly)
}
