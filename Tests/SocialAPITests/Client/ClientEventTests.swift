import Foundation
import Testing

@testable import FanmillClient
@testable import SocialAPI

/// Compares the events that the client knows with those of the API's document.
@Suite(.timeLimit(.minutes(2))) struct ClientEventTests {
  @Test func eventsAreThoseOfTheDocument() throws {
    let file = try ClientSource.file("Events/StreamEvent.swift")
    let known = file.matches(of: #/case "(.+?)": \./#).map { String($0.output.1) }
    #expect(known.sorted() == EventDeclaration.all.map(\.name).sorted())
  }

  @Test func eventsAreReadWhole() throws {
    for event in EventDeclaration.all {
      let values = [event.schema.full, event.schema.least]
      for value in values + event.schema.variants.filter({ $0.kind != .invalid }).map(\.value) {
        let returned = try #require(try Self.read(event, value), "\(event.name): \(value.text)")
        let sent = try JSONValue(bytes: Array(value.text.utf8))
        #expect(ReturnedValue.missing(sent, in: returned, at: event.name).isEmpty, "\(value.text)")
      }
      for variant in event.schema.variants where variant.kind == .invalid {
        #expect(try Self.read(event, variant.value) == nil, "\(event.name) is read without \(variant.place)")
      }
    }
  }

  /// The event's data as the client knows it; nil for data that it cannot read.
  private static func read(_ event: EventDeclaration, _ data: JSONLiteral) throws -> JSONValue? {
    let read = StreamEvent(EventParser.Event(name: event.name, data: data.text, lastID: nil, hasID: event.hasID))
    return try value(of: read.kind).map { try ReturnedValue.json($0) }
  }

  private static func value(of kind: StreamEvent.Kind) -> (any Encodable)? {
    switch kind {
    case .notification(let value): return value
    case .comment(let value): return value
    case .message(let value): return value
    case .read(let value): return value
    case .checked(let unread): return ["unread": unread]
    case .lookup(let value): return value
    case .celeb(let value): return value
    case .topTen(let value): return value
    case .agreement(let value): return value
    case .commentRemoved(let value): return value
    case .counts(let value): return value
    case .postRemoved(let post): return ["postId": post]
    case .reset: return [String: Int]()
    case .connected, .other: return nil
    }
  }
}
