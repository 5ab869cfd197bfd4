import ArgumentParser

/// The queue's commands, for a program to mount.
///
/// ```swift
/// @main struct Shop: AsyncParsableCommand {
///   static let configuration = CommandConfiguration(
///     commandName: "shop", subcommands: [Serve.self] + QueueCommands<ShopProgram>.all)
/// }
/// ```
public enum QueueCommands<P: QueueProgram> {
  /// `jobs`, `queues`, `workers`, `dead`, `schedules`, `stats`, `top`, `doctor`, `bench`.
  public static var all: [any ParsableCommand.Type] {
    [
      JobsCommand<P>.self, QueuesCommand<P>.self, WorkersCommand<P>.self, DeadCommand<P>.self,
      SchedulesCommand<P>.self, StatsCommand<P>.self, TopCommand<P>.self, DoctorCommand<P>.self, BenchCommand<P>.self,
    ]
  }

  /// `completion` and `manual`, which cover the whole program.
  public static var shell: [any ParsableCommand.Type] { [CompletionCommand<P>.self, ManualCommand<P>.self] }
}
