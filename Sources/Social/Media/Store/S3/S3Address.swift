import Foundation

/// The location of a bucket, and the key for it.
public struct S3Address: Sendable {
  /// The way a request names the bucket.
  enum Style: String {
    /// As the first part of the path.
    case path
    /// As the first label of the host name.
    case virtual
  }

  let scheme: String
  /// Host and port, without the scheme's default port.
  let server: String
  let bucket: String
  /// The prefix of every key: empty, or with a slash at its end.
  let prefix: String
  let region: String
  let style: Style
  let credentials: S3Credentials

  /// Parses `s3+https://KEY:SECRET@HOST[:PORT]/BUCKET[/PREFIX][?region=REGION&style=path|virtual]`, or `s3+http://…`
  /// for a store on this machine or in a private network. The default region is `us-east-1`, and the default style
  /// `path`.
  ///
  /// Key and secret may be percent-encoded; a secret with slashes may also be unencoded.
  ///
  /// - Throws: `.invalid`; the message quotes no part of the URL.
  public init(url: String) throws(MediaStoreError) {
    guard let scheme = ["https", "http"].first(where: { url.hasPrefix("s3+\($0)://") }) else {
      throw Self.invalid("not a URL that begins with s3+https:// or s3+http://")
    }
    let rest = url.dropFirst("s3+\(scheme)://".count)
    // No part after the credentials contains an @.
    guard let at = rest.lastIndex(of: "@") else { throw Self.invalid("put KEY:SECRET@ before the host") }
    credentials = try Self.credentials(rest[..<at])
    let parts = rest[rest.index(after: at)...].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let names = parts[0].split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    let host = try S3Host(names[0], scheme: scheme)
    self.scheme = scheme
    server = host.server
    guard names.count > 1, Self.isBucket(names[1]) else {
      throw Self.invalid(
        "put /BUCKET after the host; its name has 3 to 63 lower-case letters, digits, hyphens and dots")
    }
    bucket = names[1]
    let folders = names.last?.isEmpty == true ? names.dropFirst(2).dropLast() : names.dropFirst(2)
    guard folders.allSatisfy(Self.isFolder) else {
      throw Self.invalid("a prefix after the bucket has letters, digits, hyphens, underscores, dots and single slashes")
    }
    prefix = folders.map { "\($0)/" }.joined()
    (region, style) = try Self.query(parts.count > 1 ? parts[1] : "")
    guard style == .path || (!bucket.contains(".") && !host.isAddress) else {
      throw Self.invalid("style=virtual needs a host name, and a bucket without dots: use style=path")
    }
  }

  /// The bucket's location for display, without key and secret.
  public var name: String { "s3+\(scheme)://\(server)/\(bucket)\(prefix.isEmpty ? "" : "/\(prefix.dropLast())")" }

  private static func invalid(_ message: String) -> MediaStoreError { MediaStoreError(.invalid, message) }

  private static func credentials(_ text: Substring) throws(MediaStoreError) -> S3Credentials {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let key = decoded(parts[0]), let secret = decoded(parts[1]) else {
      throw invalid("put an access key, a colon and its secret before the @, without spaces; write % as %25")
    }
    return S3Credentials(accessKey: key, secret: secret)
  }

  /// - Returns: nil for empty text, or characters that are not printable ASCII.
  private static func decoded(_ text: Substring) -> String? {
    guard let decoded = String(text).removingPercentEncoding, !decoded.isEmpty,
      decoded.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    return decoded
  }

  private static func query(_ text: Substring) throws(MediaStoreError) -> (region: String, style: Style) {
    var (region, style) = ("us-east-1", Style.path)
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      switch (parts[0], parts.count > 1 ? parts[1] : "") {
      case ("region", let value):
        guard (1...64).contains(value.utf8.count), value.utf8.allSatisfy(isNameByte) else {
          throw invalid("region= takes lower-case letters, digits and hyphens, such as eu-central-1")
        }
        region = value
      case ("style", let value):
        guard let known = Style(rawValue: value) else { throw invalid("style= must be path or virtual") }
        style = known
      default: throw invalid("only region= and style= may follow the ?")
      }
    }
    return (region, style)
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
    default: false
    }
  }

  private static func isBucket(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard 3...63 ~= bytes.count, let first = bytes.first, let last = bytes.last else { return false }
    return bytes.allSatisfy { isNameByte($0) || $0 == UInt8(ascii: ".") } && !text.contains("..")
      && [first, last].allSatisfy { isNameByte($0) && $0 != UInt8(ascii: "-") }
  }

  private static func isFolder(_ text: String) -> Bool {
    !text.isEmpty && text != "." && text != ".."
      && text.utf8.allSatisfy {
        isNameByte($0) || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 || $0 == UInt8(ascii: ".")
          || $0 == UInt8(ascii: "_")
      }
  }
}
