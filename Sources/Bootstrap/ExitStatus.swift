import ArgumentParser

/// The exit statuses of Fanmill's processes, after `sysexits.h`.
public enum ExitStatus {
  /// A requested operation failed.
  public static let failure = ExitCode(1)
  /// The arguments are invalid; ArgumentParser uses this status itself.
  public static let usage = ExitCode(64)
  /// Redis or Postgres could not be reached.
  public static let unavailable = ExitCode(69)
  /// A setting is missing or wrong.
  public static let configuration = ExitCode(78)
}
