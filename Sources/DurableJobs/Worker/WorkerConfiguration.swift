/// A worker's settings. The defaults suit a service with millisecond jobs on a few cores.
public struct WorkerConfiguration: Sendable {
  /// The queues to serve, each with its concurrency. Queues share no slots: a full one delays no other.
  public var queues: [QueueName: Int]
  /// How long claims outlive their worker's last heartbeat.
  public var lease: Duration = .seconds(3)
  /// The interval between heartbeats. Three missed ones lose the lease.
  public var heartbeat: Duration = .seconds(1)
  /// How long running jobs get to finish after a stop is requested; the rest is handed back.
  public var shutdownLimit: Duration = .seconds(25)
  /// The interval between sweeps for pending jobs that the broker does not know.
  public var relayInterval: Duration = .seconds(2)
  /// The minimum age of a pending job before the relay asks the broker about it, so that its push can arrive. With the
  /// interval, it bounds the wait of a job whose process died between commit and push.
  public var relayAge: Duration = .seconds(2)
  /// The interval between reports to the worker registry; each returns commands.
  public var reportInterval: Duration = .seconds(1)
  /// The number of reports after which counts are sent.
  public var reportsPerCount = 5
  /// The clock for heartbeats, time limits and pauses. The checks on the servers use the system clock.
  public var clock: any WallClock = .system
  /// Runs around attempts and around what handlers enqueue, the outermost first.
  public var middleware: [any JobMiddleware] = [JobLogging(), JobMetrics()]
  /// The host of the worker's process, for people.
  public var host = ""
  /// The program's version.
  public var version = ""
  /// Its connections to the ledger's server, for the registry; nil to leave them out.
  public var connections: WorkerConnections?
  /// The assumed duration of a job until one has ended; nil claims nothing ahead until then.
  @_spi(Testing) public var assumedJobTime: Duration?
  /// Identifies the worker in leases, logs and errors. Unique: a restarted process is another worker.
  public var name: String

  /// - Parameters:
  ///   - queues: each with its concurrency.
  ///   - name: unique among all workers, past ones included.
  public init(queues: [QueueName: Int], name: String = "worker-\(JobID.next())") {
    self.queues = queues
    self.name = name
  }
}
