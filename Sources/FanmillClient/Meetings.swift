import Foundation

/// A device's part in a meeting.
public struct MeetingRole: OpenValue {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  /// Shows the code.
  public static let host = MeetingRole(rawValue: "host")
  /// Types the code.
  public static let joiner = MeetingRole(rawValue: "joiner")
}

/// The state of a meeting, or of the agreement that came from it.
public struct MeetingState: OpenValue {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let open = MeetingState(rawValue: "open")
  public static let joined = MeetingState(rawValue: "joined")
  public static let sealed = MeetingState(rawValue: "sealed")
  public static let ended = MeetingState(rawValue: "ended")
  /// Of an agreement, in events alone.
  public static let withdrawn = MeetingState(rawValue: "withdrawn")
}

/// Why a meeting ended.
public struct MeetingEnding: OpenValue {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let expired = MeetingEnding(rawValue: "expired")
  /// Too many wrong codes were tried.
  public static let guessed = MeetingEnding(rawValue: "guessed")
  public static let left = MeetingEnding(rawValue: "left")
  /// Its host began another.
  public static let replaced = MeetingEnding(rawValue: "replaced")
}

/// A meeting that the signed-in account hosts, as it begins.
public struct BegunMeeting: Sendable, Hashable, Codable, Identifiable {
  public var id: Int
  /// Six digits, valid until ``expiresAt``.
  public var code: String
  public var expiresAt: Date

  public init(id: Int, code: String, expiresAt: Date) {
    self.id = id
    self.code = code
    self.expiresAt = expiresAt
  }
}

/// A meeting as one of its two devices sees it.
public struct Meeting: Sendable, Hashable, Codable, Identifiable {
  /// The other device.
  public struct Peer: Sendable, Hashable, Codable {
    public var account: Account
    /// 64 bytes: an X25519 and an Ed25519 public key.
    public var publicKey: Data
    /// 32 bytes.
    public var commitment: Data
    /// 32 bytes; nil until the peer has opened its commitment.
    public var nonce: Data?

    public init(account: Account, publicKey: Data, commitment: Data, nonce: Data? = nil) {
      self.account = account
      self.publicKey = publicKey
      self.commitment = commitment
      self.nonce = nonce
    }
  }

  public var id: Int
  public var role: MeetingRole
  public var state: MeetingState
  /// nil unless it has ended.
  public var ending: MeetingEnding?
  public var expiresAt: Date
  /// nil until another device has joined.
  public var peer: Peer?
  /// The number of the peer's last message.
  public var received: Int
  /// Whether this device has sealed.
  public var sealed: Bool

  public init(
    id: Int, role: MeetingRole, state: MeetingState, ending: MeetingEnding? = nil, expiresAt: Date, peer: Peer? = nil,
    received: Int, sealed: Bool
  ) {
    self.id = id
    self.role = role
    self.state = state
    self.ending = ending
    self.expiresAt = expiresAt
    self.peer = peer
    self.received = received
    self.sealed = sealed
  }
}

/// A sealed message of a meeting.
public struct SealedMessage: Sendable, Hashable, Codable {
  /// From 1.
  public var number: Int
  public var body: Data

  public init(number: Int, body: Data) {
    self.number = number
    self.body = body
  }
}

/// A device's signature of the record, and its owner's copy.
public struct MeetingSeal: Sendable, Hashable {
  /// 32 bytes.
  public var hash: Data
  /// 64 bytes.
  public var signature: Data
  /// Sealed for its owner.
  public var copy: Data
  /// In whole seconds, as in the record.
  public var expiresAt: Date

  public init(hash: Data, signature: Data, copy: Data, expiresAt: Date) {
    self.hash = hash
    self.signature = signature
    self.copy = copy
    self.expiresAt = expiresAt
  }
}

extension FanmillClient {
  public var meetings: Meetings { Meetings(sender: sender) }

  /// `agreements/meetings`: the server's half of a meeting of two devices. The module Agreements has the devices' half.
  ///
  /// Each call throws `agreements_off` where agreements are disabled, `adult_statement_needed` for an account that has
  /// not stated that they are an adult, and `not_found` for a meeting of others.
  public struct Meetings: Sendable {
    let sender: RequestSender

    private struct Introduction: Encodable {
      var host: String?
      var code: String?
      var publicKey: Data
      var commitment: Data
    }

    /// Begins a meeting, which ends the account's open one.
    ///
    /// - Parameters:
    ///   - publicKey: 64 bytes.
    ///   - commitment: 32 bytes.
    /// - Throws: `invalid_publicKey`, `invalid_commitment`, `too_many_attempts`.
    public func begin(publicKey: Data, commitment: Data) async throws -> BegunMeeting {
      // The server stores no response with a code. A repeated request begins another meeting in place of the first.
      try await sender.value(
        APIRequest(
          .post, ["agreements", "meetings"], body: Introduction(publicKey: publicKey, commitment: commitment),
          repetition: .safe))
    }

    /// Joins the open meeting of an account. May be repeated with the same keys.
    ///
    /// - Parameter host: the host's username.
    /// - Throws: `wrong_code`, whether or not the host has an open meeting; `cannot_meet_yourself`,
    ///   `too_many_attempts`.
    public func join(host: String, code: String, publicKey: Data, commitment: Data) async throws -> Meeting {
      // A wrong code counts as a guess each time it arrives.
      try await sender.value(
        APIRequest(
          .post, ["agreements", "meetings", "join"],
          body: Introduction(host: host, code: code, publicKey: publicKey, commitment: commitment),
          repetition: .refusedOnly))
    }

    public func meeting(_ id: Meeting.ID) async throws -> Meeting {
      try await sender.value(APIRequest(.get, path(id)))
    }

    /// Leaves a meeting, which ends it.
    public func leave(_ id: Meeting.ID) async throws { try await sender.send(APIRequest(.delete, path(id))) }

    private struct Opening: Encodable { var nonce: Data }

    /// Opens the device's commitment, once the peer's has arrived. May be repeated.
    ///
    /// - Throws: `meeting_ended`, `invalid_nonce`.
    public func open(_ id: Meeting.ID, nonce: Data) async throws {
      try await sender.send(APIRequest(.put, path(id) + ["opening"], body: Opening(nonce: nonce)))
    }

    private struct Body: Encodable { var body: Data }

    /// Sends a sealed message, at most eight of 96 KiB each. May be repeated.
    ///
    /// - Parameter number: from 1, without gaps.
    /// - Throws: `meeting_ended`, `meeting_not_opened`, `message_differs`, `invalid_number`, `invalid_body`.
    public func send(_ body: Data, number: Int, in id: Meeting.ID) async throws {
      try await sender.send(APIRequest(.put, path(id) + ["messages", String(number)], body: Body(body: body)))
    }

    /// The peer's messages after a number.
    public func messages(in id: Meeting.ID, after number: Int = 0) async throws -> [SealedMessage] {
      try await sender.items(APIRequest(.get, path(id) + ["messages"], query: [("after", String(number))]))
    }

    private struct Seal: Encodable {
      var hash: Data
      var signature: Data
      var copy: Data
      var expiresAt: Int
    }

    /// Seals the record. The second seal of the same record makes the agreement; until then it can be replaced.
    ///
    /// - Returns: the meeting: `sealed` once both have sealed.
    /// - Throws: `forged_seal`, `seals_differ`, `meeting_ended`, `too_many_agreements`.
    @discardableResult
    public func seal(_ seal: MeetingSeal, in id: Meeting.ID) async throws -> Meeting {
      try await sender.value(
        APIRequest(
          .put, path(id) + ["seal"],
          body: Seal(
            hash: seal.hash, signature: seal.signature, copy: seal.copy,
            expiresAt: Int(seal.expiresAt.timeIntervalSince1970))))
    }

    private func path(_ id: Meeting.ID) -> [String] { ["agreements", "meetings", String(id)] }
  }
}
