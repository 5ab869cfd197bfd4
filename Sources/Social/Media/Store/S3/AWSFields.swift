import HTTPTypes

extension HTTPField.Name {
  static let amzDate = known("X-Amz-Date")
  static let amzContentSHA256 = known("X-Amz-Content-SHA256")
  static let amzBucketRegion = known("X-Amz-Bucket-Region")

  private static func known(_ text: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a token by RFC 9110") }
    return name
  }
}
