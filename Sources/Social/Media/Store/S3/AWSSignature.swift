import Cryptography
import Foundation
import HTTPTypes

/// Signs requests for S3 with AWS Signature Version 4, with the path encoded once.
///
/// Source: "AWS Signature Version 4 for API requests" and "Authenticating Requests (AWS Signature Version 4)" in the
/// Amazon S3 API Reference.
struct AWSSignature: Sendable {
  private static let algorithm = "AWS4-HMAC-SHA256"
  /// The SHA-256 of no bytes.
  static let emptyPayload = SHA256.hash(of: []).hexadecimal

  let credentials: S3Credentials
  let region: String

  /// The request with the fields `X-Amz-Date`, `X-Amz-Content-SHA256` and `Authorization`.
  ///
  /// - Parameter payload: the SHA-256 of its body, in hexadecimal digits.
  func signed(_ request: AWSRequest, payload: String, at date: Date) -> AWSRequest {
    var request = request
    request.fields[.amzDate] = Self.timestamp(date)
    request.fields[.amzContentSHA256] = payload
    let fields = Self.fieldsToSign(request)
    let signature = signature(request, fields, payload: payload, at: date)
    let names = fields.map(\.name).joined(separator: ";")
    request.fields[.authorization] =
      "\(Self.algorithm) Credential=\(credentials.accessKey)/\(scope(date)), SignedHeaders=\(names), "
      + "Signature=\(signature)"
    return request
  }

  /// The request with the signature in its query, for a client without a key.
  ///
  /// - Parameter seconds: how long it is valid, up to 604,800.
  func presigned(_ request: AWSRequest, at date: Date, for seconds: Int) -> AWSRequest {
    var request = request
    let fields = Self.fieldsToSign(request)
    request.query += [
      ("X-Amz-Algorithm", Self.algorithm), ("X-Amz-Credential", "\(credentials.accessKey)/\(scope(date))"),
      ("X-Amz-Date", Self.timestamp(date)), ("X-Amz-Expires", String(seconds)),
      ("X-Amz-SignedHeaders", fields.map(\.name).joined(separator: ";")),
    ]
    let signature = signature(request, fields, payload: "UNSIGNED-PAYLOAD", at: date)
    request.query.append(("X-Amz-Signature", signature))
    return request
  }

  /// Names in lower case, sorted; values trimmed, with single spaces inside. Several values of one name are joined, in
  /// order.
  private static func fieldsToSign(_ request: AWSRequest) -> [(name: String, value: String)] {
    var values: [String: [String]] = ["host": [request.authority]]
    for field in request.fields {
      let single = field.value.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      values[field.name.canonicalName, default: []].append(single)
    }
    return values.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value.joined(separator: ",")) }
  }

  private func signature(
    _ request: AWSRequest, _ fields: [(name: String, value: String)], payload: String, at date: Date
  ) -> String {
    let canonical = [
      request.method.rawValue, request.encodedPath, request.encodedQuery,
      fields.map { "\($0.name):\($0.value)\n" }.joined(),
      fields.map(\.name).joined(separator: ";"), payload,
    ].joined(separator: "\n")
    let text = [Self.algorithm, Self.timestamp(date), scope(date), SHA256.hash(of: canonical.utf8).hexadecimal]
      .joined(separator: "\n")
    var key = Array("AWS4\(credentials.secret)".utf8)
    for part in scope(date).split(separator: "/") { key = HMACSHA256(key: key).code(for: part.utf8) }
    return HMACSHA256(key: key).code(for: text.utf8).hexadecimal
  }

  private func scope(_ date: Date) -> String { "\(Self.timestamp(date).prefix(8))/\(region)/s3/aws4_request" }

  /// The timestamp format, such as `20130524T000000Z`.
  private static func timestamp(_ date: Date) -> String {
    date.formatted(
      Date.ISO8601FormatStyle(
        dateSeparator: .omitted, dateTimeSeparator: .standard, timeSeparator: .omitted, timeZone: .gmt))
  }
}
