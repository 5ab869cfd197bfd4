import Foundation

/// A text that two people can agree on.
public struct AgreementTemplate: Sendable, Hashable, Codable, Identifiable {
  public var id: String
  /// `en` or `ko`.
  public var language: String
  public var title: String
  public var text: String

  public init(id: String, language: String, title: String, text: String) {
    self.id = id
    self.language = language
    self.title = title
    self.text = text
  }
}

/// An agreement, as one of its parties sees it. Show a withdrawn one as withdrawn.
public struct Agreement: Sendable, Hashable, Codable, Identifiable {
  /// nil while neither party has withdrawn.
  public var withdrawnAt: Date?
  /// `me` or `peer`.
  public var withdrawnBy: String?
  /// That of the meeting.
  public var id: Int
  public var role: MeetingRole
  /// nil once the other party's account is deleted.
  public var peer: Account?
  public var sealedAt: Date
  public var expiresAt: Date
  /// The server's statement, a JWS with Ed25519: both have signed, and whether one has withdrawn by now.
  public var receipt: String
  /// The owner's sealed copy.
  public var copy: Data

  public init(
    withdrawnAt: Date? = nil, withdrawnBy: String? = nil, id: Int, role: MeetingRole, peer: Account? = nil,
    sealedAt: Date, expiresAt: Date, receipt: String, copy: Data
  ) {
    self.withdrawnAt = withdrawnAt
    self.withdrawnBy = withdrawnBy
    self.id = id
    self.role = role
    self.peer = peer
    self.sealedAt = sealedAt
    self.expiresAt = expiresAt
    self.receipt = receipt
    self.copy = copy
  }
}

extension FanmillClient {
  public var agreements: Agreements { Agreements(sender: sender) }

  /// `agreements`: sealed records. Each call throws `agreements_off` where agreements are disabled.
  public struct Agreements: Sendable {
    let sender: RequestSender

    /// The account's agreements, newest first.
    public func list(limit: Int? = nil) -> Pages<Agreement> {
      sender.pages(APIRequest(.get, ["agreements"]), limit: limit)
    }

    /// An agreement with a receipt as of now.
    ///
    /// - Throws: `not_found`.
    public func agreement(_ id: Agreement.ID) async throws -> Agreement {
      try await sender.value(APIRequest(.get, ["agreements", String(id)]))
    }

    private struct Withdrawn: Decodable { var withdrawnAt: Date }

    /// Withdraws from an agreement, even after the caller's copy was removed. The first withdrawal counts.
    ///
    /// - Returns: the time of the first withdrawal.
    /// - Throws: `not_found`.
    @discardableResult
    public func withdraw(_ id: Agreement.ID) async throws -> Date {
      try await sender.value(
        APIRequest(.post, ["agreements", String(id), "withdrawal"], repetition: .safe), as: Withdrawn.self
      ).withdrawnAt
    }

    /// Removes the caller's copy; the other party keeps theirs.
    ///
    /// - Throws: `not_found`.
    public func delete(_ id: Agreement.ID) async throws {
      try await sender.send(APIRequest(.delete, ["agreements", String(id)]))
    }

    /// The texts that the server offers.
    ///
    /// - Parameter language: `en` or `ko`.
    /// - Throws: `invalid_language`.
    public func templates(language: String = "en") async throws -> [AgreementTemplate] {
      try await sender.items(APIRequest(.get, ["agreements", "templates"], query: [("language", language)]))
    }

    /// The backup of the keys to the account's copies.
    public var backup: AgreementBackups { AgreementBackups(sender: sender) }
  }
}
