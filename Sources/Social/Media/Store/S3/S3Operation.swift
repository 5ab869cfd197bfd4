import HTTPTypes

/// What is done in a bucket.
enum S3Operation {
  case put, get, delete, list

  var method: HTTPRequest.Method {
    switch self {
    case .put: .put
    case .get, .list: .get
    case .delete: .delete
    }
  }

  /// After "may not" and "cannot".
  var verb: String {
    switch self {
    case .put: "store objects"
    case .get: "read objects"
    case .delete: "delete objects"
    case .list: "list objects"
    }
  }

  /// What the key's policy has to allow. A store that may not list says of a missing object that it is forbidden.
  var permission: String {
    switch self {
    case .put: "s3:PutObject"
    case .get: "s3:GetObject and s3:ListBucket"
    case .delete: "s3:DeleteObject"
    case .list: "s3:ListBucket"
    }
  }
}
