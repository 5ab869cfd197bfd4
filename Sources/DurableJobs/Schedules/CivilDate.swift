/// A date of the proleptic Gregorian calendar.
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

  /// - Parameter day: days since 1970-01-01. Years are counted from March, so that the leap day is a year's last day;
  ///   the calendar repeats every 146,097 days (E. G. Richards, "Calendars", in: Explanatory Supplement to the
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
