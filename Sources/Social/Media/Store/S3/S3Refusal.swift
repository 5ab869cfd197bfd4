import HTTPTypes

/// The response of a store that did not do what was requested.
struct S3Refusal {
  let status: Int
  /// S3's error code, such as `AccessDenied`; nil if there was none, as for a HEAD or from a proxy.
  private(set) var code: String?
  /// The bucket's region, if the store reports another one.
  private(set) var region: String?

  init(_ response: HTTPResponse, _ body: [UInt8]) {
    status = response.status.code
    region = Self.word(response.headerFields[.amzBucketRegion])
    var (code, region) = (nil as String?, nil as String?)
    do throws(XMLScanner.Malformed) {
      // Not the message, which may quote what was signed.
      try XMLScanner.scan(body) { path, text in
        switch path {
        case "Error/Code": code = Self.word(text)
        case "Error/Region": region = Self.word(text)
        default: break
        }
      }
    } catch {
      // A proxy's page, or no body: the status is enough.
      return
    }
    self.code = code
    self.region = region ?? self.region
  }

  /// Whether a retry may succeed a moment later.
  var isPassing: Bool {
    [500, 502, 503, 504, 429].contains(status) || ["SlowDown", "InternalError", "RequestTimeout"].contains(code)
  }

  /// Accepts only letters, digits, hyphens and dots, since the text comes from outside and appears in a message.
  private static func word(_ text: String?) -> String? {
    guard let text, 1...64 ~= text.utf8.count,
      text.utf8.allSatisfy({ byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: false
        }
      })
    else { return nil }
    return text
  }
}
