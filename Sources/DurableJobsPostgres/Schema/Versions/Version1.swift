extension JobsSchemaVersion {
  /// The tables.
  static let version1 = JobsSchemaVersion(
    number: 1, name: "tables",
    sql: """
      -- The ledger: a row for every durable job that is pending, from the transaction that asked for it until the one
      -- that did it.
      --
      -- The key leads with the queue, so that one index serves completing by id, sweeping a queue in the order of its
      -- ids (which is the order of time) and distribution by queue.
      CREATE TABLE jobs (
        queue text NOT NULL,
        id uuid NOT NULL,
        kind text NOT NULL,
        version integer NOT NULL,
        priority smallint NOT NULL DEFAULT 1,
        payload text NOT NULL,
        attempts integer NOT NULL DEFAULT 0,
        -- Null: at once.
        run_at timestamptz,
        unique_key text,
        -- Waits for a worker that knows its kind and version.
        parked boolean NOT NULL DEFAULT false,
        -- An array of {attempt, at, error, worker}; null before the first.
        failures jsonb,
        created_at timestamptz NOT NULL DEFAULT now(),
        -- The trace id of the request or the tick that the job follows from.
        trace uuid,
        -- Why the broker cannot take the job, which another program has written. Correcting the row sets it to null.
        refusal text,
        PRIMARY KEY (queue, id)
      ) WITH (
        -- Rows live for milliseconds: the table stays small only if what they leave is cleaned up often.
        autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0
      );

      CREATE UNIQUE INDEX jobs_unique_key ON jobs (queue, unique_key) WHERE unique_key IS NOT NULL;
      CREATE INDEX jobs_parked ON jobs (queue, kind) WHERE parked;
      CREATE INDEX jobs_failed ON jobs (queue, id) WHERE failures IS NOT NULL;
      -- Lists of few among many. A job that is due at once and has never failed is in none of these, so the usual path
      -- pays nothing.
      CREATE INDEX jobs_timed ON jobs (queue, id) WHERE run_at IS NOT NULL;
      CREATE INDEX jobs_parked_in_order ON jobs (queue, id) WHERE parked;
      CREATE INDEX jobs_refused ON jobs (queue, id) WHERE refusal IS NOT NULL;

      -- Dead letters: jobs that are not tried any more, with every error.
      CREATE TABLE dead_jobs (
        id uuid PRIMARY KEY,
        queue text NOT NULL,
        kind text NOT NULL,
        version integer NOT NULL,
        priority smallint NOT NULL,
        payload text NOT NULL,
        attempts integer NOT NULL,
        unique_key text,
        failures jsonb NOT NULL,
        created_at timestamptz NOT NULL,
        died_at timestamptz NOT NULL DEFAULT now(),
        trace uuid
      );

      -- The newest first, of all, of a kind, of a queue; the id makes each place unique, so that a page can go on
      -- after it.
      CREATE INDEX dead_jobs_newest ON dead_jobs (died_at, id);
      CREATE INDEX dead_jobs_by_kind ON dead_jobs (kind, died_at, id);
      CREATE INDEX dead_jobs_by_queue ON dead_jobs (queue, died_at, id);

      -- Jobs that are no longer pending and worth a look: those that an operator cancelled or deleted, and those that
      -- were done after they had failed at least once. They are kept for a few days.
      CREATE TABLE ended_jobs (
        id uuid PRIMARY KEY,
        queue text NOT NULL,
        kind text NOT NULL,
        version integer NOT NULL,
        priority smallint NOT NULL,
        payload text NOT NULL,
        attempts integer NOT NULL,
        unique_key text,
        failures jsonb,
        created_at timestamptz NOT NULL,
        trace uuid,
        state text NOT NULL CHECK (state IN ('done', 'cancelled', 'deleted')),
        ended_at timestamptz NOT NULL DEFAULT now()
      );

      CREATE INDEX ended_jobs_newest ON ended_jobs (state, ended_at, id);
      -- For sweeping, whatever the state.
      CREATE INDEX ended_jobs_by_end ON ended_jobs (ended_at);

      -- A row for each worker, which it renews every second. It takes its row along when it leaves.
      CREATE TABLE workers (
        name text PRIMARY KEY,
        host text NOT NULL,
        pid integer NOT NULL,
        version text NOT NULL,
        started_at timestamptz NOT NULL,
        seen_at timestamptz NOT NULL DEFAULT now(),
        -- As the worker says of itself.
        state text NOT NULL CHECK (state IN ('running', 'quiet', 'stopping')),
        -- An array of {queue, slots}.
        queues jsonb NOT NULL,
        -- An array of {id, kind, queue, attempt, since}, milliseconds since 1970; of many the first.
        running jsonb NOT NULL,
        -- What an operator asks of it: it reads this with each renewal.
        orders text CHECK (orders IN ('quiet', 'stop')),
        -- The number of the last batch of minutes that its report brought and that was added: one that is sent again,
        -- because its answer was lost, adds nothing.
        counted bigint NOT NULL DEFAULT 0,
        -- How many connections to this server it has, as it says of itself: {pool, most}. Null where it does not say.
        connections jsonb
      ) WITH (
        -- Renewed in place.
        fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
      );

      -- Workers claim nothing from these.
      CREATE TABLE queue_pauses (
        queue text PRIMARY KEY,
        paused_at timestamptz NOT NULL DEFAULT now(),
        paused_by text NOT NULL
      );

      -- Running jobs that an operator wants to end. The worker that runs one ends it, and takes the row away.
      CREATE TABLE job_cancellations (
        id uuid PRIMARY KEY,
        queue text NOT NULL,
        asked_at timestamptz NOT NULL DEFAULT now()
      );

      -- What workers did, minute by minute. Times are sums over the jobs whose attempts ended in the minute.
      CREATE TABLE job_minutes (
        minute timestamptz NOT NULL,
        queue text NOT NULL,
        kind text NOT NULL,
        completed bigint NOT NULL,
        -- Attempts that failed and are made again.
        failed bigint NOT NULL,
        dead bigint NOT NULL,
        run_ms double precision NOT NULL,
        wait_ms double precision NOT NULL,
        PRIMARY KEY (minute, queue, kind)
      ) WITH (fillfactor = 70);

      -- The same hour by hour: a week of it is read as quickly as an hour is minute by minute.
      CREATE TABLE job_hours (
        hour timestamptz NOT NULL,
        queue text NOT NULL,
        kind text NOT NULL,
        completed bigint NOT NULL,
        failed bigint NOT NULL,
        dead bigint NOT NULL,
        run_ms double precision NOT NULL,
        wait_ms double precision NOT NULL,
        PRIMARY KEY (hour, queue, kind)
      ) WITH (fillfactor = 70);

      -- What operators did, whether at a terminal or in the dashboard.
      CREATE TABLE actions (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        at timestamptz NOT NULL DEFAULT now(),
        actor text NOT NULL,
        role text NOT NULL,
        -- Such as 'jobs.cancel'.
        action text NOT NULL,
        -- The job's id, the queue's name, the worker's.
        subject text NOT NULL,
        detail jsonb
      );

      CREATE INDEX actions_by_subject ON actions (subject, id);

      -- A row for each schedule that a worker has known.
      CREATE TABLE schedules (
        name text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 64),
        -- For people, and to see that a newer version has another.
        timing text NOT NULL,
        -- Of the jobs that it asks for.
        kind text NOT NULL,
        paused boolean NOT NULL DEFAULT false,
        -- Ticks up to this moment have fired or never will. Firing holds this row's lock.
        decided_until timestamptz NOT NULL,
        last_tick timestamptz,
        -- As it looked at the last change; null for none, or while it is paused.
        next_tick timestamptz
      );

      -- A row for each tick that has fired. The key is what makes a tick fire once. The newest 1,000 or so of each
      -- schedule are kept.
      CREATE TABLE schedule_ticks (
        schedule text NOT NULL REFERENCES schedules ON DELETE CASCADE,
        tick timestamptz NOT NULL,
        -- The job it asked for, which was left out if another with its unique key was pending.
        job_id uuid NOT NULL,
        fired_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (schedule, tick)
      );

      -- A queue's oldest job waits, or runs, longer than its limit: a row from then on. At most one of a kind is open,
      -- so that an alarm is given once, and once more when it is over.
      CREATE TABLE alarms (
        id uuid PRIMARY KEY,
        queue text NOT NULL,
        what text NOT NULL CHECK (what IN ('waiting', 'running')),
        limit_seconds double precision NOT NULL,
        -- How long it was when the limit was found passed.
        seconds double precision NOT NULL,
        opened_at timestamptz NOT NULL,
        closed_at timestamptz,
        -- Whether the webhook has its two messages; true where there is no webhook.
        opening_told boolean NOT NULL,
        closing_told boolean NOT NULL
      );

      CREATE UNIQUE INDEX alarms_open ON alarms (queue, what) WHERE closed_at IS NULL;
      CREATE INDEX alarms_untold ON alarms (opened_at) WHERE NOT (opening_told AND closing_told);
      CREATE INDEX alarms_closed ON alarms (closed_at) WHERE closed_at IS NOT NULL;

      -- The last sample of the process that leads in watching: one row, which every process's metrics and the
      -- autoscaling route read.
      CREATE TABLE stack_samples (
        id boolean PRIMARY KEY DEFAULT true CHECK (id),
        sampled_at timestamptz NOT NULL,
        sample jsonb NOT NULL
      ) WITH (fillfactor = 10);

      -- Processes whose machine's clock is off by more than a second, as they say themselves every few seconds.
      CREATE TABLE process_clocks (
        -- Unique among all that run.
        process text PRIMARY KEY,
        program text NOT NULL,
        host text NOT NULL,
        -- Negative where it is behind.
        ahead_ms bigint NOT NULL,
        seen_at timestamptz NOT NULL DEFAULT now()
      );
      """)
}
