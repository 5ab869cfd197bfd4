/// The reason why an agreement failed. A retry with the same peer cannot succeed: begin a new meeting.
public struct AgreementError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure; more may be added.
  public struct Code: Sendable, Hashable {
    private let name: String
    private init(_ name: String) { self.name = name }

    /// The input does not have the protocol's form.
    public static let malformed = Code("malformed")
    /// The peer's opening does not match its commitment: a man in the middle replaced it.
    public static let brokenCommitment = Code("brokenCommitment")
    /// A message was modified, repeated or dropped.
    public static let tampered = Code("tampered")
    /// The devices are too far apart for two people who agree in person.
    public static let tooFar = Code("tooFar")
    /// The peer's text, place, time or names differ from those shown on this device.
    public static let differs = Code("differs")
    /// A signature is not the peer's, or not the server's.
    public static let forged = Code("forged")
    /// A call came out of order.
    public static let outOfTurn = Code("outOfTurn")
    /// The passcode is wrong, or the copy was modified.
    public static let locked = Code("locked")
  }

  public let code: Code
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
