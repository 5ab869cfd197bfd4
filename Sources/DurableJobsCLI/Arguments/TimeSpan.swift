import ArgumentParser
import Foundation

/// A duration on the command line: `90s`, `15m`, `2h`, `1d`; a bare number counts seconds.
package struct TimeSpan: ExpressibleByArgument, Sendable {
  package let seconds: Double
  private let text: String

  package init(seconds: Int) {
    self.seconds = Double(seconds)
    text = "\(seconds)s"
  }

  package static let form = "such as 90s, 15m, 2h or 1d"

  package init?(argument: String) {
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86400]
    let unit = argument.last.flatMap { units[$0] }
    guard let count = Double(unit == nil ? argument[...] : argument.dropLast()), count.isFinite, 0...1e7 ~= count else {
      return nil
    }
    seconds = count * (unit ?? 1)
    text = argument
  }

  package var duration: Duration { .seconds(seconds) }
  package var defaultValueDescription: String { text }
}

/// A time on the command line: in ISO 8601, or as a duration ago.
package struct Moment: ExpressibleByArgument, Sendable {
  package let date: Date

  package static let form = "in ISO 8601, such as 2030-01-31T12:00:00Z, or how long ago it is, such as 2h"

  package init?(argument: String) {
    if let date = Self.date(argument) {
      self.date = date
    } else if let span = TimeSpan(argument: argument) {
      date = Date(timeIntervalSinceNow: -span.seconds)
    } else {
      return nil
    }
  }

  package static func date(_ text: String) -> Date? {
    for style in [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)] {
      // One matching form is enough; a mismatch with the other is no error.
      if let date = try? style.parse(text) { return date }
    }
    return nil
  }
}

/// A due time: `--at` or `--in`.
package struct DueTime: ParsableArguments, Sendable {
  package init() {}

  @Option(help: "When it is due, in ISO 8601, such as 2030-01-31T12:00:00Z.") package var at: String?
  @Option(name: .customLong("in"), help: "How long until it is due, \(TimeSpan.form).") package var delay: String?

  /// nil if neither is given.
  ///
  /// - Throws: `ValidationError`.
  package func date() throws -> Date? {
    switch (at, delay) {
    case (nil, nil): return nil
    case (.some, .some): throw ValidationError("--at and --in both set the due time: give one of them")
    case (.some(let at), nil):
      guard let date = Moment.date(at) else {
        throw ValidationError("--at is '\(at)': use a time in ISO 8601, such as 2030-01-31T12:00:00Z")
      }
      return date
    case (nil, .some(let delay)):
      guard let span = TimeSpan(argument: delay) else {
        throw ValidationError("--in is '\(delay)': use a time \(TimeSpan.form)")
      }
      return Date(timeIntervalSinceNow: span.seconds)
    }
  }

  package mutating func validate() throws { _ = try date() }
}
