/// A cron expression: five fields, which say at which minutes something happens.
///
///     ┌ minute (0–59)
///     │ ┌ hour (0–23)
///     │ │ ┌ day of month (1–31)
///     │ │ │ ┌ month (1–12 or jan–dec)
///     │ │ │ │ ┌ day of week (0–7 or sun–sat; 0 and 7 are Sunday)
///     0 3 * * mon-fri
///
/// A field is `*`, a value, a range `a-b`, a step `*/n` or `a-b/n`, or a list of those, joined by commas. `@hourly`,
/// `@daily` (`@midnight`), `@weekly`, `@monthly` and `@yearly` (`@annually`) stand for whole expressions.
///
/// The two day fields combine as in Vixie cron: where neither begins with `*`, a day that either of them names will do
/// (`0 0 13 * fri` is each 13th and each Friday); otherwise it takes both.
///
/// **Daylight saving.** Clocks are put forward, and an hour never happens; they are put back, and one happens twice.
/// Then:
/// | | an hour that never happens | an hour that happens twice |
/// |---|---|---|
/// | the hour field begins with `*` | its ticks do not happen | they happen in both |
/// | the hour is fixed, the minute field begins with `*` | one tick, right after the gap | they happen in both |
/// | hour and minute are fixed | one tick, right after the gap | they happen in the first |
///
/// So work of a certain hour is done once on each day, and work every so many minutes goes on at its pace.
public struct CronExpression: Sendable, Hashable, CustomStringConvertible {
  let minute: CronField
  let hour: CronField
  let dayOfMonth: CronField
  let month: CronField
  let dayOfWeek: CronField
  /// As it was written, with single spaces.
  public let description: String

  /// - Throws: `.expression`: which field is wrong, what is wrong with it, what would be right.
  public init(_ text: String) throws(ScheduleError) {
    let words = text.split(whereSeparator: \.isWhitespace)
    description = words.joined(separator: " ")
    var fields = words
    if let first = words.first, first.hasPrefix("@") {
      guard words.count == 1, let meaning = Self.shorthands.first(where: { $0.name == first.lowercased() }) else {
        let known = Self.shorthands.map(\.name).joined(separator: ", ")
        throw ScheduleError(
          .expression, "the cron expression '\(description)' is none of those that begin with @: \(known)")
      }
      fields = meaning.fields.split(separator: " ")
    }
    guard fields.count == CronField.Kind.all.count else {
      let names = CronField.Kind.all.map(\.name).joined(separator: ", ")
      throw ScheduleError(
        .expression, "the cron expression '\(description)' has \(fields.count) fields; five belong there: \(names)")
    }
    var read: [CronField] = []
    for (field, kind) in zip(fields, CronField.Kind.all) {
      do throws(CronField.Wrong) {
        read.append(try CronField(field, kind))
      } catch {
        throw ScheduleError(
          .expression, "the \(kind.name) '\(field)' of the cron expression '\(description)' is wrong: \(error.reason)")
      }
    }
    (minute, hour, dayOfMonth, month, dayOfWeek) = (read[0], read[1], read[2], read[3], read[4])
  }

  private static let shorthands: [(name: String, fields: String)] = [
    ("@hourly", "0 * * * *"), ("@daily", "0 0 * * *"), ("@midnight", "0 0 * * *"), ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"), ("@yearly", "0 0 1 1 *"), ("@annually", "0 0 1 1 *"),
  ]
}
