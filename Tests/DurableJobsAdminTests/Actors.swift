import DurableJobsAdmin

extension Operator {
  static let tester = Operator(name: "tester")
  /// Somebody who may only look.
  static let visitor = Operator(name: "visitor", role: .readOnly)
}
