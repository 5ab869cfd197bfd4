import Foundation
import Hummingbird
import Reactor

/// The fields and values of a form or a query (`application/x-www-form-urlencoded`). A name may occur more than once.
public struct DashboardForm: Sendable {
  /// The largest accepted form, in bytes.
  static let limit = 1 << 20

  private let fields: [(name: String, value: String)]

  init(_ text: some StringProtocol) {
    fields = Array(text.utf8).split(separator: UInt8(ascii: "&")).map { pair in
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      return (Self.decode(Array(parts[0])), parts.count > 1 ? Self.decode(Array(parts[1])) : "")
    }
  }

  /// A request's body.
  ///
  /// - Throws: an error of status 413 for more than the limit.
  init(bodyOf request: Request) async throws {
    // A slow browser must not use up the time for the servers.
    let begun = ContinuousClock.now
    defer { Deadline.current?.extend(by: .now - begun) }
    let buffer = try await request.body.collect(upTo: Self.limit)
    self.init(String(decoding: buffer.readableBytesView, as: UTF8.self))
  }

  /// A field's first value; nil if it is missing or empty.
  public subscript(name: String) -> String? {
    fields.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
  }

  /// All values of a field.
  public func all(_ name: String) -> [String] { fields.filter { $0.name == name && !$0.value.isEmpty }.map(\.value) }

  /// A required field's value.
  ///
  /// - Throws: a refusal of status 422.
  public func require(_ name: String) throws(DashboardRefusal) -> String {
    guard let value = self[name] else {
      throw DashboardRefusal(.unprocessableContent, "Missing field", "The form needs the field \(name).")
    }
    return value
  }

  /// A time from a browser's datetime field, `2026-11-21T18:52`, taken as UTC; nil if it is missing.
  ///
  /// - Throws: a refusal of status 422 for text that is not a time.
  public func date(_ name: String) throws(DashboardRefusal) -> Date? {
    guard let text = self[name] else { return nil }
    let full = text.count == 16 ? text + ":00" : text
    do {
      return try Date(full.hasSuffix("Z") ? full : full + "Z", strategy: .iso8601)
    } catch {
      throw DashboardRefusal(.unprocessableContent, "Not a valid time", "Use a time such as 2026-11-21T18:52, in UTC.")
    }
  }

  /// All fields except those with these names, in order.
  func without(_ names: Set<String>) -> [(name: String, value: String)] { fields.filter { !names.contains($0.name) } }

  /// Zero bytes are dropped, since database text cannot contain them.
  private static func decode(_ bytes: [UInt8]) -> String {
    var decoded: [UInt8] = []
    var index = 0
    while index < bytes.count {
      var byte = bytes[index]
      if byte == UInt8(ascii: "+") {
        byte = UInt8(ascii: " ")
      } else if byte == UInt8(ascii: "%"), index + 2 < bytes.count, let high = digit(bytes[index + 1]),
        let low = digit(bytes[index + 2])
      {
        byte = high << 4 | low
        index += 2
      }
      if byte != 0 { decoded.append(byte) }
      index += 1
    }
    return String(decoding: decoded, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
