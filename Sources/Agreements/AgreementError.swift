/// Why an agreement cannot go on. None of these is worth another try with the same peer: begin a new meeting.
public struct AgreementError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What went wrong; more may come.
  public struct Code: Sendable, Hashable {
    private let name: String
    private init(_ name: String) { self.name = name }

    /// What came is not in the protocol's form.
    public static let malformed = Code("malformed")
    /// The peer's opening does not match its commitment: a man in the middle changed it.
    public static let brokenCommitment = Code("brokenCommitment")
    /// A message was changed, repeated or left out.
    public static let tampered = Code("tampered")
    /// The devices are farther apart than two people who agree.
    public static let tooFar = Code("tooFar")
    /// The peer's text, place, time or names are not those that are shown here.
    public static let differs = Code("differs")
    /// A signature is not the peer's, or not the server's.
    public static let forged = Code("forged")
    /// Something was asked for before its turn.
    public static let outOfTurn = Code("outOfTurn")
    /// The passcode is wrong, or the copy was changed.
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
