import HTTPTypes
import Testing

@testable import CurlClient

@Suite("Requests that are not sent", .timeLimit(.minutes(1)))
struct RefusedRequestTests {
  private func refusal(_ change: (inout HTTPRequest) -> Void, body: [UInt8] = []) -> HTTPClientError.Code? {
    var request = HTTPRequest(method: .get, scheme: "https", authority: "example.org", path: "/p?key=QUERY-SECRET")
    change(&request)
    do throws(HTTPClientError) {
      _ = try HTTPCall(request, body: body, userAgent: "test")
      return nil
    } catch {
      for secret in secrets { #expect(!error.message.contains(secret)) }
      return error.code
    }
  }

  @Test func places() {
    #expect(refusal { _ in } == nil)
    for scheme in [nil, "", "ftp", "file"] as [String?] { #expect(refusal { $0.scheme = scheme } != nil) }
    for host in [
      nil, "", "user:BODY-SECRET@example.org", "example.org/x", "example.org?x", "exa mple.org", "a\\b", "ü.de",
    ]
      as [String?]
    {
      #expect(refusal { $0.authority = host } == .invalidRequest)
    }
    for host in ["EXAMPLE.org:8080", "127.0.0.1", "[::1]:443"] { #expect(refusal { $0.authority = host } == nil) }
    for path in [nil, "", "p", "*", "/a b", "/ü", "/a#b", "/a\r\nHost: evil", "//a\tb"] as [String?] {
      #expect(refusal { $0.path = path } == .invalidRequest)
    }
  }

  @Test func methodsAndBodies() {
    #expect(refusal({ _ in }, body: [1]) == .invalidRequest)
    #expect(refusal({ $0.method = .head }, body: [1]) == .invalidRequest)
    #expect(refusal({ $0.method = .connect }) == .invalidRequest)
    #expect(refusal({ $0.method = .trace }) == .invalidRequest)
    #expect(refusal({ $0.method = .delete }, body: [1]) == nil)
  }

  @Test(arguments: ["Content-Length", "transfer-encoding", "Host", "Connection", "Expect", "TE", "Upgrade", "Trailer"])
  func fieldsOfTheClient(_ name: String) throws {
    let field = try #require(HTTPField.Name(name))
    #expect(refusal { $0.headerFields[field] = "FIELD-SECRET" } == .invalidRequest)
  }

  /// A value stays on one line, whatever it contains.
  @Test(arguments: ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1", "a\0b", "a\u{7F}b", "a\u{1}b"])
  func lineEndsInFields(_ value: String) throws {
    let name = try #require(HTTPField.Name("X-Value"))
    for field in [HTTPField(name: name, value: value), HTTPField(name: name, lenientValue: Array(value.utf8))] {
      var request = HTTPRequest(method: .get, scheme: "https", authority: "example.org", path: "/")
      request.headerFields.append(field)
      do throws(HTTPClientError) {
        let call = try HTTPCall(request, body: [], userAgent: "test")
        for line in call.fields { #expect(!line.utf8.contains { $0 == 10 || $0 == 13 || $0 == 0 }) }
      } catch {
        #expect(error.code == .invalidRequest)
      }
    }
  }
}
