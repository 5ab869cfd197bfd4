import Jobs

/// What the app does again and again, one line a feature. A job that a tick asks for may find its work done already.
public enum SocialSchedules {
  public static func all() throws(ScheduleError) -> [Schedule] {
    []
  }
}
