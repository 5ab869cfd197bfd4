import Foundation

/// A sealed message between two devices.
public enum AgreementMessage: Sendable, Hashable {
  case place(AgreementPlace)
  /// The host's record.
  case record(AgreementRecord)
  /// The sender does not agree.
  case decline

  private struct Form: Codable {
    var type: String
    var place: AgreementPlace?
    var record: Data?
  }

  func bytes() throws(AgreementError) -> [UInt8] {
    let form: Form =
      switch self {
      case .place(let place): Form(type: "place", place: place)
      case .record(let record): Form(type: "record", record: Data(try record.bytes))
      case .decline: Form(type: "decline")
      }
    do { return Array(try JSONEncoder().encode(form)) } catch {
      throw AgreementError(.malformed, "the message cannot be written")
    }
  }

  init(bytes: [UInt8]) throws(AgreementError) {
    let malformed = AgreementError(.malformed, "the peer's message does not follow the protocol")
    let form: Form
    do { form = try JSONDecoder().decode(Form.self, from: Data(bytes)) } catch { throw malformed }
    switch (form.type, form.place, form.record) {
    case ("place", let place?, nil):
      try place.check()
      self = .place(place)
    case ("record", nil, let record?): self = .record(try AgreementRecord(bytes: Array(record)))
    case ("decline", nil, nil): self = .decline
    default: throw malformed
    }
  }
}
