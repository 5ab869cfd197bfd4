/// An access key and its secret. Printing it shows asterisks.
struct S3Credentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  let accessKey: String
  let secret: String

  var description: String { "***" }
  var debugDescription: String { "***" }
  var customMirror: Mirror { Mirror(self, children: []) }
}
