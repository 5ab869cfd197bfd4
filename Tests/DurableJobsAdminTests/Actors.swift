import DurableJobsAdmin

extension Operator {
  static let tester = Operator(name: "tester")
  /// A read-only operator.
  static let visitor = Operator(name: "visitor", role: .readOnly)
}
