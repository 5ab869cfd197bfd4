/// What a report is about.
public enum ReportSubject: Sendable, Hashable {
  case post(Post.ID)
  case comment(PostComment.ID, on: Post.ID)
  /// An account, by its username.
  case user(String)
  /// A message that the signed-in account received.
  case message(Message.ID)
  /// An agreement or a meeting that the signed-in account is part of.
  case agreement(Meeting.ID)
}

/// Why something is reported.
public struct ReportReason: OpenValue {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let spam = ReportReason(rawValue: "spam")
  public static let harassment = ReportReason(rawValue: "harassment")
  public static let hate = ReportReason(rawValue: "hate")
  public static let nudity = ReportReason(rawValue: "nudity")
  public static let violence = ReportReason(rawValue: "violence")
  public static let selfHarm = ReportReason(rawValue: "self_harm")
  public static let impersonation = ReportReason(rawValue: "impersonation")
  public static let copyright = ReportReason(rawValue: "copyright")
  public static let other = ReportReason(rawValue: "other")
}

extension FanmillClient {
  public var reports: Reports { Reports(sender: sender) }

  /// `reports`, for the operators.
  public struct Reports: Sendable {
    let sender: RequestSender

    private struct Draft: Encodable {
      var post: Int?
      var comment: Int?
      var user: String?
      var message: Int?
      var agreement: Int?
      var reason: ReportReason
      var text: String
    }

    private struct Made: Decodable { var id: Int }

    /// Reports what the signed-in account can see. Reporting it again returns the same id.
    ///
    /// - Parameter text: up to 1,000 characters.
    /// - Returns: the report's id.
    /// - Throws: `not_found`, `cannot_report_yourself`, `invalid_reason`, `too_many_reports`.
    @discardableResult
    public func create(_ subject: ReportSubject, reason: ReportReason, text: String = "") async throws -> Int {
      var draft = Draft(reason: reason, text: text)
      switch subject {
      case .post(let id): draft.post = id
      case .comment(let id, let post): (draft.comment, draft.post) = (id, post)
      case .user(let name): draft.user = name
      case .message(let id): draft.message = id
      case .agreement(let id): draft.agreement = id
      }
      return try await sender.value(APIRequest(.post, ["reports"], body: draft), as: Made.self).id
    }
  }
}
