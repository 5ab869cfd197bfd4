/// A program's names for its settings and commands, for the doctor's advice.
public struct DoctorTerms: Sendable {
  /// The command that the queue's commands are mounted under, as in "`COMMAND dead list`".
  public var command = "jobs"
  public var postgresURL = "the URL of Postgres"
  public var replicaURL = "the URL of the replica"
  public var redisURL = "the URL of Redis"
  /// The setting for the number of connections that a process pools.
  public var poolSize = "the size of the pool"
  /// The setting for the number of jobs that a worker runs at once per queue.
  public var concurrency = "the queues' limits"
  /// The setting for the queues that a worker serves.
  public var queues = "the worker's queues"
  /// The command that starts workers.
  public var worker = "a worker"
  /// The term for a worker that fires schedules.
  public var schedulingWorker = "a worker with a scheduler"
  /// How to bring the queue's schema up to date, as a whole clause.
  public var migrate = "call `JobsSchema.migrate`"
  /// Another remedy for an unreachable server, as a whole clause; nil for none.
  public var restart: String?

  public init() {}
}
