/// Which minutes an expression names on a calendar without time zones.
///
/// Times are seconds since 1970-01-01T00:00:00 as the clock on the wall shows them.
extension CronExpression {
  /// The first minute it names that does not begin before `wall`; nil if there is none in 400 years, after which the
  /// calendar repeats itself with the same days of the week.
  func firstWallTime(from wall: Int64) -> Int64? {
    let first = (wall + 59).floored(by: 60)
    let day = first.floored(by: 1440)
    if matches(day), let minutes = timeOfDay(from: Int(first - day * 1440)) { return (day * 1440 + minutes) * 60 }
    guard let next = firstDay(from: day + 1), let minutes = timeOfDay(from: 0) else { return nil }
    return (next * 1440 + minutes) * 60
  }

  /// The first time of a day, in minutes, that it names and that is not before `minutes`.
  private func timeOfDay(from minutes: Int) -> Int64? {
    let (startHour, startMinute) = minutes.quotientAndRemainder(dividingBy: 60)
    if hour.contains(startHour), let minute = minute.first(from: startMinute) { return Int64(startHour * 60 + minute) }
    guard let hour = hour.first(from: startHour + 1), let minute = minute.first(from: 0) else { return nil }
    return Int64(hour * 60 + minute)
  }

  private func matches(_ day: Int64) -> Bool {
    let date = CivilDate(day: day)
    return month.contains(date.month) && matches(date, weekday: CivilDate.weekday(of: day))
  }

  private func matches(_ date: CivilDate, weekday: Int) -> Bool {
    let (byDate, byWeekday) = (dayOfMonth.contains(date.day), dayOfWeek.contains(weekday))
    return dayOfMonth.isWildcard || dayOfWeek.isWildcard ? byDate && byWeekday : byDate || byWeekday
  }

  private func firstDay(from day: Int64) -> Int64? {
    var day = day
    var date = CivilDate(day: day)
    for _ in 0...4800 {
      let length = date.monthLength
      if month.contains(date.month) {
        while date.day <= length {
          if matches(date, weekday: CivilDate.weekday(of: day)) { return day }
          date.day += 1
          day += 1
        }
      }
      day += Int64(length - date.day + 1)
      date = CivilDate(
        year: date.month == 12 ? date.year + 1 : date.year, month: date.month == 12 ? 1 : date.month + 1, day: 1)
    }
    return nil
  }
}

/// A date of the Gregorian calendar, also before it was introduced.
struct CivilDate: Hashable, Sendable {
  var year: Int64
  /// 1–12.
  var month: Int
  /// 1–31.
  var day: Int

  init(year: Int64, month: Int, day: Int) {
    self.year = year
    self.month = month
    self.day = day
  }

  /// - Parameter day: days since 1970-01-01. The years are counted from March, so that the leap day is a year's last,
  ///   and the calendar repeats every 146,097 days (E. G. Richards, "Calendars", in: Explanatory Supplement to the
  ///   Astronomical Almanac, 3rd ed., 2013).
  init(day: Int64) {
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    let shifted = day + 719_468
    let era = shifted.floored(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    self.day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5) + 1
    month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  var monthLength: Int {
    switch month {
    case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// 0 for Sunday. 1970-01-01 was a Thursday.
  static func weekday(of day: Int64) -> Int { Int(day + 4 - (day + 4).floored(by: 7) * 7) }
}
