/// A metric as Prometheus sees it.
struct MetricDescription: Sendable, Hashable {
  let name: String
  let kind: PrometheusFamily.Kind
  let labels: [String]
  /// One sentence: the `HELP` line and the row in `docs/metrics.md`.
  let help: String

  init(_ kind: PrometheusFamily.Kind, _ name: String, _ labels: [String] = [], _ help: String) {
    self.kind = kind
    self.name = name
    self.labels = labels
    self.help = help
  }
}

/// All metrics of the API and the workers. A test fails for a metric that is missing here or in `docs/metrics.md`.
enum MetricCatalog {
  static let jobs: [MetricDescription] = [
    .init(
      .counter, "fanmill_jobs_total", ["queue", "kind", "outcome"],
      "Attempts that ended, by outcome: completed, failed (and tried again), dead."),
    .init(
      .counter, "fanmill_job_repeats_total", ["queue", "kind"],
      "Attempts that began and were not their job's first: after a failure, or after its worker died."),
    .init(.histogram, "fanmill_job_run_seconds", ["queue", "kind"], "How long attempts ran."),
    .init(.histogram, "fanmill_job_wait_seconds", ["queue", "kind"], "How long jobs were ready before they began."),
    .init(
      .counter, "fanmill_relayed_jobs_total", ["queue"],
      "Jobs pending in the ledger that the broker did not know and that were pushed again."),
    .init(.counter, "fanmill_schedule_ticks_total", ["schedule"], "Ticks of schedules that fired."),
    .init(
      .counter, "fanmill_schedule_gaps_total", ["schedule"],
      "Stretches in which ticks of a schedule were missed that did not all fire later."),
  ]

  static let stack: [MetricDescription] = [
    .init(
      .gauge, "fanmill_queue_jobs", ["queue", "state"],
      "Jobs in the broker, by state: ready, claimed (in the hands of a worker), delayed."),
    .init(
      .gauge, "fanmill_ledger_jobs", ["queue", "kind", "state"],
      "Jobs in the ledger, by state: waiting (running ones too), delayed, retrying, parked; and dead letters, dead."),
    .init(
      .gauge, "fanmill_ledger_debt_jobs", ["queue"],
      "Jobs that the ledger owes and the broker did not know when they were last counted."),
    .init(
      .gauge, "fanmill_oldest_waiting_seconds", ["queue"],
      "For how long the job that is ready longest has been so; 0 where none is."),
    .init(
      .gauge, "fanmill_oldest_running_seconds", ["queue"],
      "For how long the job that runs longest has run; 0 where none does."),
    .init(.gauge, "fanmill_queue_workers", ["queue"], "Workers that serve the queue."),
    .init(.gauge, "fanmill_queue_paused", ["queue"], "1 where an operator has paused the queue, else 0."),
    .init(.gauge, "fanmill_arrival_rate", ["queue"], "Jobs that become ready in a second, smoothed."),
    .init(.gauge, "fanmill_workers_wanted", ["queue"], "Workers that the queue needs."),
    .init(
      .gauge, "fanmill_alarm", ["queue", "what"],
      "1 while the oldest waiting or running job of the queue is past its limit, else 0."),
    .init(.gauge, "fanmill_broker_memory_bytes", "Memory that Redis uses for its data."),
    .init(.gauge, "fanmill_broker_memory_limit_bytes", "Redis' maxmemory; 0 for none."),
    .init(.gauge, "fanmill_broker_up", "1 where the broker answered when it was last asked, else 0."),
    .init(.gauge, "fanmill_fan_outs_unfinished", "Fan-outs under way; of more than a thousand a thousand."),
    .init(.gauge, "fanmill_fan_out_lag_seconds", "For how long the oldest unfinished fan-out has been under way."),
    .init(
      .gauge, "fanmill_postgres_oldest_snapshot_seconds",
      "For how long the oldest snapshot in Postgres has been held; 0 where none is. Rows of done jobs stay that long."),
    .init(.gauge, "fanmill_quota_left", ["key", "budget"], "What is left today of a YouTube key's budget."),
    .init(.gauge, "fanmill_quota_limit", ["key", "budget"], "A YouTube key's budget for a day."),
    .init(
      .gauge, "fanmill_sample_timestamp_seconds",
      "When the figures of the whole stack were taken, in seconds since 1970."),
  ]

  static let process: [MetricDescription] = [
    .init(
      .counter, "fanmill_http_requests_total", ["route", "method", "status"],
      "Requests by the route that answered and the class of the status, such as 2xx."),
    .init(.histogram, "fanmill_http_request_seconds", ["route", "method"], "How long answers took."),
    .init(.gauge, "fanmill_http_requests_in_flight", "Requests that are not answered yet."),
    .init(
      .counter, "fanmill_youtube_calls_total", ["outcome"],
      "Calls to YouTube, by outcome: answered, not_modified, refused, failed."),
    .init(.counter, "fanmill_youtube_keys_disabled_total", "Keys that YouTube refused and that went out of use."),
    .init(
      .histogram, "fanmill_event_loop_lag_seconds", ["loop"],
      "How late work began, asked for once a second: on the loops redis, postgres and http, and as one of the tasks."),
    .init(
      .gauge, "fanmill_postgres_connections", ["state"], "The process's pooled connections: idle, leased."),
    .init(.gauge, "fanmill_postgres_pool_size", "How many pooled connections the process opens at most."),
    .init(.gauge, "fanmill_postgres_waiting", "Callers in the process that wait for a connection."),
    .init(
      .gauge, "fanmill_clock_offset_seconds",
      "How far the machine's clock is ahead of Postgres', which decides; negative where it is behind."),
    .init(.counter, "process_cpu_seconds_total", "Processor time spent since the start, in seconds."),
    .init(.gauge, "process_open_fds", "Open file descriptors."),
    .init(.gauge, "process_resident_memory_bytes", "Memory in use, in bytes."),
    .init(.gauge, "process_start_time_seconds", "When the process started, in seconds since 1970."),
  ]

  static let all = jobs + stack + process

  /// Registers the description of each metric.
  static func describe(in registry: PrometheusRegistry) {
    for metric in all { registry.describe(metric.name, metric.help) }
  }
}

extension MetricDescription {
  fileprivate init(_ kind: PrometheusFamily.Kind, _ name: String, _ help: String) { self.init(kind, name, [], help) }
}
