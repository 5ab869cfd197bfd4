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
      "Attempts that ended, by outcome: completed, failed (and retried), dead, discarded."),
    .init(
      .counter, "fanmill_job_repeats_total", ["queue", "kind"],
      "Attempts after a job's first: after a failure, or after its worker died."),
    .init(.histogram, "fanmill_job_run_seconds", ["queue", "kind"], "How long attempts ran."),
    .init(.histogram, "fanmill_job_wait_seconds", ["queue", "kind"], "How long jobs were ready before they began."),
    .init(
      .counter, "fanmill_relayed_jobs_total", ["queue"],
      "Pending jobs that were unknown to the broker and pushed again."),
    .init(.counter, "fanmill_schedule_ticks_total", ["schedule"], "Schedule ticks that fired."),
    .init(
      .counter, "fanmill_schedule_gaps_total", ["schedule"],
      "Gaps in a schedule whose missed ticks did not all fire later."),
  ]

  static let stack: [MetricDescription] = [
    .init(
      .gauge, "fanmill_queue_jobs", ["queue", "state"],
      "Jobs in the broker, by state: ready, claimed (held by a worker), delayed."),
    .init(
      .gauge, "fanmill_ledger_jobs", ["queue", "kind", "state"],
      "Jobs in the ledger, by state: waiting (or running), delayed, retrying, parked; and dead letters, dead."),
    .init(
      .gauge, "fanmill_ledger_debt_jobs", ["queue"],
      "Jobs pending in the ledger but unknown to the broker at the last count."),
    .init(
      .gauge, "fanmill_oldest_waiting_seconds", ["queue"],
      "How long the oldest ready job has been ready; 0 if there is none."),
    .init(
      .gauge, "fanmill_oldest_running_seconds", ["queue"],
      "Run time of the longest-running job; 0 if none is running."),
    .init(.gauge, "fanmill_queue_workers", ["queue"], "Workers that serve the queue."),
    .init(.gauge, "fanmill_queue_paused", ["queue"], "1 if an operator has paused the queue, else 0."),
    .init(.gauge, "fanmill_arrival_rate", ["queue"], "Jobs that become ready per second, smoothed."),
    .init(.gauge, "fanmill_workers_wanted", ["queue"], "Workers that the queue needs."),
    .init(
      .gauge, "fanmill_alarm", ["queue", "what"],
      "1 while the oldest waiting or running job of the queue is past its limit, else 0."),
    .init(.gauge, "fanmill_broker_memory_bytes", "Memory that Redis uses for its data."),
    .init(.gauge, "fanmill_broker_memory_limit_bytes", "Redis' maxmemory; 0 for none."),
    .init(.gauge, "fanmill_broker_up", "1 if the broker answered the last query, else 0."),
    .init(.gauge, "fanmill_fan_outs_unfinished", "Fan-outs in progress, capped at 1,000."),
    .init(.gauge, "fanmill_fan_out_lag_seconds", "Age of the oldest unfinished fan-out."),
    .init(
      .gauge, "fanmill_postgres_oldest_snapshot_seconds",
      "Age of the oldest snapshot held in Postgres; 0 if there is none. Rows of finished jobs stay until it ends."),
    .init(
      .gauge, "fanmill_webhooks_stopped", "Webhooks that were paused after a day of failures, or disabled."),
    .init(
      .gauge, "fanmill_webhook_lag_seconds", "Age of the oldest event that waits for an active webhook; 0 if none."),
    .init(.gauge, "fanmill_quota_left", ["key", "budget"], "What is left of a YouTube key's budget today."),
    .init(.gauge, "fanmill_quota_limit", ["key", "budget"], "A YouTube key's daily budget."),
    .init(
      .gauge, "fanmill_sample_timestamp_seconds",
      "When the whole stack was last sampled, in seconds since 1970."),
  ]

  static let process: [MetricDescription] = [
    .init(
      .counter, "fanmill_http_requests_total", ["route", "method", "status"],
      "Requests, by route and status class, such as 2xx."),
    .init(.histogram, "fanmill_http_request_seconds", ["route", "method"], "How long responses took."),
    .init(.gauge, "fanmill_http_requests_in_flight", "Requests not yet answered."),
    .init(
      .counter, "fanmill_youtube_calls_total", ["outcome"],
      "Calls to YouTube, by outcome: answered, not_modified, refused, failed."),
    .init(
      .counter, "fanmill_webhook_attempts_total", ["outcome"],
      "Attempts to deliver an event to a webhook, by what followed: delivered, retry, failed (for a day), paused, "
        + "disabled, stopped, replaced."),
    .init(.counter, "fanmill_youtube_keys_disabled_total", "Keys disabled because YouTube refused them."),
    .init(
      .histogram, "fanmill_event_loop_lag_seconds", ["loop"],
      "How late work started, probed once a second: on the loops redis, postgres and http, and among the tasks."),
    .init(
      .gauge, "fanmill_postgres_connections", ["state"], "The process's pooled connections: idle, leased."),
    .init(.gauge, "fanmill_postgres_pool_size", "The most pooled connections the process opens."),
    .init(.gauge, "fanmill_postgres_waiting", "Callers in the process waiting for a connection."),
    .init(
      .gauge, "fanmill_clock_offset_seconds",
      "How far the machine's clock is ahead of Postgres', which decides; negative if it is behind."),
    .init(.counter, "process_cpu_seconds_total", "CPU time since the start, in seconds."),
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
