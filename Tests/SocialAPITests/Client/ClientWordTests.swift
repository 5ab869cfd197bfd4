import Foundation
import Testing

@testable import FanmillClient
@testable import SocialAPI

/// Compares the words that the client names, such as states and the codes of errors, with those of the API's document.
@Suite struct ClientWordTests {
  @Test func wordsAreThoseOfTheDocument() throws {
    var words = try ClientSource.words()
    words["Code"] = nil
    // The document has examples of it, and no list.
    words["Source"] = nil
    #expect(words == Self.documented.mapValues { Set($0.flatMap { $0?.choices ?? [] }) })
  }

  @Test func ordersAndNumbersAreThoseOfTheDocument() {
    let order = APIOperation.listComments.parameters.first { $0.name == "order" }
    #expect(Set(FanmillClient.Comments.Order.allCases.map(\.rawValue)) == order?.schema.choices)
    let types: [NotificationType] = [.like, .comment, .follow]
    #expect(types.map(\.rawValue) == [0, 1, 2])
    #expect(Components.notification["type"]?.form == .integer(0...2))
  }

  /// Where the document has the words of a type.
  private static let documented: [String: [Schema?]] = [
    "Action": [Components.notice["action"]],
    "CelebState": [Components.celeb["state"], Components.celebProfile["state"]],
    "LookupState": [Components.lookup["state"]],
    "MeetingEnding": [Components.meeting["ending"]],
    "MeetingRole": [Components.meeting["role"], Components.agreement["role"]],
    "MeetingState": [
      Components.meeting["state"], EventDeclaration.all.first { $0.name == "agreement" }?.schema["state"],
    ],
    "Mode": [Components.fanOut["mode"]],
    "Platform": [Components.celeb["platform"], Components.certificate["platform"]],
    "PurchaseOutcome": [APIOperation.takePurchaseNotice.outcomes.first?.contents.first?.schema["outcome"]],
    "RankingMeasure": [APIOperation.Parameter.rankedBy.schema],
    "RankingWindow": [APIOperation.Parameter.window.schema],
    "ReportReason": [APIOperation.report.body?.schema["reason"]],
    "State": [Components.upload["state"]],
  ]

  /// Codes of failures without an answer.
  private static let own: Set<String> = ["malformed_response", "network", "not_ready", "timed_out", "unreadable_file"]

  /// Codes of connections that the server refuses before it reads a request.
  private static let early: Set<String> = ["request_timeout", "too_many_connections"]

  @Test func codesAreThoseOfTheDocument() throws {
    let declared = ([.malformedRequest] + ClientCall.all.flatMap(\.operation.errors)).map(\.code)
    let expected = Set(declared.filter { !$0.hasPrefix("invalid_") }).union(Self.own).union(Self.early)
    let named = try ClientSource.words()["Code"] ?? []
    #expect(named.subtracting(expected).isEmpty, "the document does not have them")
    #expect(expected.subtracting(named).isEmpty, "the client does not name them")
  }

  @Test func problemsAreRead() {
    for problem in ProblemCode.all {
      let error = FanmillError(
        TransportResponse(
          status: problem.status, headers: ["content-type": "application/problem+json"],
          body: Data(problem.example.text.utf8)))
      #expect(error.code.rawValue == problem.code)
      #expect(error.status == problem.status && error.message == problem.meaning)
      #expect(error.field == problem.example["field"]?.plain)
      #expect(error.code.isInvalidField == (error.field != nil))
    }
  }
}
