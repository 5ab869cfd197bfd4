import HTTPTypes

/// What a store says that does not do what it was asked for.
struct S3Refusal {
  let status: Int
  /// S3's code, such as `AccessDenied`; nil where none came, as for a HEAD or from a proxy.
  private(set) var code: String?
  /// Where the bucket is, if the store says that it is elsewhere.
  private(set) var region: String?

  init(_ response: HTTPResponse, _ body: [UInt8]) {
    status = response.status.code
    region = Self.word(response.headerFields[.amzBucketRegion])
    var (code, region) = (nil as String?, nil as String?)
    do throws(XMLScanner.Malformed) {
      // Not the message: it may quote what was signed.
      try XMLScanner.scan(body) { path, text in
        switch path {
        case "Error/Code": code = Self.word(text)
        case "Error/Region": region = Self.word(text)
        default: break
        }
      }
    } catch {
      // A proxy's page, or no body at all: the status says enough.
      return
    }
    self.code = code
    self.region = region ?? self.region
  }

  /// Whether the same request may succeed a moment later.
  var isPassing: Bool {
    [500, 502, 503, 504, 429].contains(status) || ["SlowDown", "InternalError", "RequestTimeout"].contains(code)
  }

  /// Letters, digits, hyphens and dots: what comes from outside and stands in a message.
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
