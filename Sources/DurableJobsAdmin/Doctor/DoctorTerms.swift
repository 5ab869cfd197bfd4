/// What a program calls its settings and commands, for the doctor's advice.
public struct DoctorTerms: Sendable {
  /// The command under which the queue's commands are mounted, as in "`COMMAND dead list`".
  public var command = "jobs"
  public var postgresURL = "the URL of Postgres"
  public var replicaURL = "the URL of the replica"
  public var redisURL = "the URL of Redis"
  /// How many connections a process pools.
  public var poolSize = "the size of the pool"
  /// How many jobs of a queue a worker runs at once.
  public var concurrency = "the queues' limits"
  /// Which queues a worker serves.
  public var queues = "the worker's queues"
  /// What starts workers.
  public var worker = "a worker"
  /// A worker that fires schedules.
  public var schedulingWorker = "a worker with a scheduler"
  /// What brings the queue's schema up to date, as a whole clause.
  public var migrate = "call `JobsSchema.migrate`"
  /// What else helps where a server is away, as a whole clause; nil for nothing.
  public var restart: String?

  public init() {}
}
