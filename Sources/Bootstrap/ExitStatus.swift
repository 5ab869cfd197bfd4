import ArgumentParser

/// What a process of Fanmill exits with, after `sysexits.h`.
public enum ExitStatus {
  /// Something that was asked for did not happen.
  public static let failure = ExitCode(1)
  /// Arguments that mean nothing; ArgumentParser exits with it by itself.
  public static let usage = ExitCode(64)
  /// Redis or Postgres could not be reached.
  public static let unavailable = ExitCode(69)
  /// A setting is missing or wrong.
  public static let configuration = ExitCode(78)
}
