/// How a worker works. The defaults suit a service with millisecond jobs on a few cores.
public struct WorkerConfiguration: Sendable {
  /// The queues to serve, each with how many of its jobs run at once. Queues do not share: a full one holds up no
  /// other.
  public var queues: [QueueName: Int]
  /// How long a claim outlives its worker's last heartbeat.
  public var lease: Duration = .seconds(3)
  /// Between two heartbeats. Three missed ones lose the lease.
  public var heartbeat: Duration = .seconds(1)
  /// How long running jobs get to finish after a stop was asked for; the rest is handed back.
  public var shutdownLimit: Duration = .seconds(25)
  /// Between two sweeps for jobs that the ledger owes and the broker does not know.
  public var relayInterval: Duration = .seconds(2)
  /// How old a pending job is before the relay asks the broker about it: time for its push to arrive. With the interval
  /// it bounds how long a job waits whose process died between commit and push.
  public var relayAge: Duration = .seconds(2)
  /// Between two reports to the worker registry, each of which brings orders.
  public var reportInterval: Duration = .seconds(1)
  /// After so many reports what was done since is counted in.
  public var reportsPerCount = 5
  /// What its timers wait by: heartbeats, time limits, pauses. Its watch over the servers goes by the system's clock.
  public var clock: any WallClock = .system
  /// Runs around attempts and around what handlers enqueue, the outermost first.
  public var middleware: [any JobMiddleware] = [JobLogging(), JobMetrics()]
  /// Where the worker's process is, for people who look for it.
  public var host = ""
  /// Of the program.
  public var version = ""
  /// How many connections it has to the ledger's server, for the registry; nil to leave it out.
  public var connections: WorkerConnections?
  /// How long a job is taken to last until one has ended; nil claims nothing ahead before that is known.
  @_spi(Testing) public var assumedJobTime: Duration?
  /// Names the worker in leases, logs and errors. Unique: a restart is another worker.
  public var name: String

  /// - Parameters:
  ///   - queues: each with how many of its jobs run at once.
  ///   - name: another one for each worker that ever was.
  public init(queues: [QueueName: Int], name: String = "worker-\(JobID.next())") {
    self.queues = queues
    self.name = name
  }
}
