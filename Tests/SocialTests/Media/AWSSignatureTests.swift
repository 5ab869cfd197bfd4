import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2)))
struct AWSSignatureTests {
  /// 2013-05-24T00:00:00Z, as in the vectors.
  private static let date = Date(timeIntervalSince1970: 1_369_353_600)
  private static let signature = AWSSignature(
    credentials: S3Credentials(
      accessKey: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), region: "us-east-1")

  struct Vector: Sendable {
    let method: HTTPRequest.Method
    let path: String
    var query: [(name: String, value: String)] = []
    var fields: [[String]] = []
    var payload = AWSSignature.emptyPayload
    let signature: String
  }

  /// From "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk (AWS Signature
  /// Version 4)", Amazon S3 API Reference, its four examples in their order.
  static let vectors = [
    Vector(
      method: .get, path: "/test.txt", fields: [["Range", "bytes=0-9"]],
      signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
    Vector(
      method: .put, path: "/test$file.text",
      fields: [["Date", "Fri, 24 May 2013 00:00:00 GMT"], ["x-amz-storage-class", "REDUCED_REDUNDANCY"]],
      payload: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
      signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
    Vector(
      method: .get, path: "/", query: [("lifecycle", "")],
      signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    Vector(
      method: .get, path: "/", query: [("prefix", "J"), ("max-keys", "2")],
      signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
  ]

  @Test(arguments: vectors.indices)
  func theFieldIsThatOfTheDocumentation(_ index: Int) throws {
    let vector = Self.vectors[index]
    let request = AWSRequest(
      method: vector.method, scheme: "https", authority: "examplebucket.s3.amazonaws.com", path: vector.path,
      query: vector.query, fields: try Self.fields(vector.fields))
    let field = Self.signature.signed(request, payload: vector.payload, at: Self.date).fields[.authorization]
    #expect(field?.hasSuffix("Signature=\(vector.signature)") == true, "\(String(describing: field))")
  }

  /// Source: "Authenticating Requests: Using Query Parameters (AWS Signature Version 4)", Amazon S3 API Reference.
  @Test func theURLIsThatOfTheDocumentation() {
    let request = AWSRequest(
      method: .get, scheme: "https", authority: "examplebucket.s3.amazonaws.com", path: "/test.txt")
    let url = Self.signature.presigned(request, at: Self.date, for: 86_400).url
    #expect(
      url == """
        https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=\
        AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&\
        X-Amz-Expires=86400&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404&\
        X-Amz-SignedHeaders=host
        """)
  }

  @Test func everySignatureIsBotocoresToo() async throws {
    var generator = SeededGenerator("signatures")
    let cases = (0..<600).map { _ in Self.randomCase(using: &generator) }
    let answers = try await BotocoreSigner.answers(to: cases)
    try #require(answers.count == cases.count)
    let formatter = ISO8601DateFormatter()
    for (one, answer) in zip(cases, answers) {
      let signature = AWSSignature(
        credentials: S3Credentials(accessKey: one.accessKey, secret: one.secret), region: one.region)
      let date = try #require(formatter.date(from: one.date + "Z"))
      let request = AWSRequest(
        method: try #require(HTTPRequest.Method(one.method)), scheme: one.scheme, authority: one.authority,
        path: one.path, query: one.query.map { ($0[0], $0[1]) }, fields: try Self.fields(one.fields))
      let signed = signature.signed(request, payload: one.payload, at: date)
      #expect(signed.fields[.authorization] == answer.authorization, "\(one)")
      #expect(Self.parts(signed.url) == Self.parts(answer.plainURL), "\(one)")
      let url = signature.presigned(request, at: date, for: one.seconds).url
      #expect(Self.parts(url) == Self.parts(answer.url), "\(one)")
    }
  }

  /// Fields from names and values.
  private static func fields(_ pairs: [[String]]) throws -> HTTPFields {
    var fields = HTTPFields()
    for pair in pairs { fields.append(HTTPField(name: try #require(HTTPField.Name(pair[0])), value: pair[1])) }
    return fields
  }

  /// A URL in a form independent of its query's order.
  private static func parts(_ url: String) -> [String] {
    let halves = url.split(separator: "?", maxSplits: 1).map(String.init)
    return [halves[0]] + (halves.count > 1 ? halves[1].split(separator: "&").map(String.init).sorted() : [])
  }

  private static func randomCase(using generator: inout SeededGenerator) -> BotocoreSigner.Case {
    func text(_ lengths: ClosedRange<Int>, _ characters: String) -> String {
      let characters = Array(characters)
      return String(
        (0..<Int.random(in: lengths, using: &generator)).map { _ in
          characters[Int.random(in: 0..<characters.count, using: &generator)]
        })
    }
    let plain = "abcXYZ019"
    let any = plain + "-._~ !\"#$%&'()*+,/:;<=>?@[\\]^`{|}\u{E9}\u{4E2D}\u{1F600}"
    // Each name is used once, since botocore keeps one of each name when it signs a query.
    let names = Set((0..<Int.random(in: 0...4, using: &generator)).map { _ in text(1...5, any) }).sorted()
    let fields = (0..<Int.random(in: 0...3, using: &generator)).map { number in
      ["X-\(number % 2)-\(text(0...2, plain))", text(0...9, plain + "  ,;=\"")]
    }
    let day = Int.random(in: 1...28, using: &generator)
    let clock = (0..<3).map { [24, 60, 60][$0] }.map { Int.random(in: 0..<$0, using: &generator) }
    func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
    return BotocoreSigner.Case(
      accessKey: text(1...20, plain), secret: text(1...40, plain + "/+="), region: text(1...12, "abc-1"),
      method: ["GET", "PUT", "DELETE", "HEAD", "POST"].randomElement(using: &generator) ?? "GET",
      scheme: ["http", "https"].randomElement(using: &generator) ?? "http",
      authority: ["s3.example.org", "bucket.s3.example.org:9000", "127.0.0.1:5000"].randomElement(using: &generator)
        ?? "h",
      path: "/" + text(0...20, any + "///..."), query: names.map { [$0, text(0...8, any)] }, fields: fields,
      payload: text(64...64, "0123456789abcdef"),
      date: "\(Int.random(in: 2000...2099, using: &generator))-\(two(Int.random(in: 1...12, using: &generator)))"
        + "-\(two(day))T\(clock.map(two).joined(separator: ":"))",
      seconds: Int.random(in: 1...604_800, using: &generator))
  }
}
