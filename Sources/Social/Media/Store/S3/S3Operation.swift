import HTTPTypes

/// An operation on a bucket.
enum S3Operation {
  case put, get, delete, list

  var method: HTTPRequest.Method {
    switch self {
    case .put: .put
    case .get, .list: .get
    case .delete: .delete
    }
  }

  /// The phrase after "may not" and "cannot".
  var verb: String {
    switch self {
    case .put: "store objects"
    case .get: "read objects"
    case .delete: "delete objects"
    case .list: "list objects"
    }
  }

  /// The permission that the key's policy must grant. Without `s3:ListBucket` a store reports a missing object as
  /// forbidden.
  var permission: String {
    switch self {
    case .put: "s3:PutObject"
    case .get: "s3:GetObject and s3:ListBucket"
    case .delete: "s3:DeleteObject"
    case .list: "s3:ListBucket"
    }
  }
}
