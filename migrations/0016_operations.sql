-- What operators see and do: workers and what each runs, paused queues, what was done minute by minute, jobs that ended in a
-- way worth a look, and who did what.

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
  orders text CHECK (orders IN ('quiet', 'stop'))
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

-- Running jobs that somebody wants to end. Whoever runs one ends it, and takes the row away.
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

-- Jobs that are not owed any more and worth a look: those that an operator cancelled or deleted, and those that were done
-- after they had failed at least once. They are kept for a few days.
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

-- Lists of few among many. A job that is due at once and has never failed is in none of these, so the usual path pays nothing.
CREATE INDEX jobs_timed ON jobs (queue, id) WHERE run_at IS NOT NULL;
CREATE INDEX jobs_parked_in_order ON jobs (queue, id) WHERE parked;

-- The newest first, of all, of a kind, of a queue; the id makes each place unique, so that a page can go on after it.
DROP INDEX dead_jobs_by_death;
CREATE INDEX dead_jobs_newest ON dead_jobs (died_at, id);
CREATE INDEX dead_jobs_by_kind ON dead_jobs (kind, died_at, id);
CREATE INDEX dead_jobs_by_queue ON dead_jobs (queue, died_at, id);

-- down

DROP INDEX dead_jobs_by_queue;
DROP INDEX dead_jobs_by_kind;
DROP INDEX dead_jobs_newest;
CREATE INDEX dead_jobs_by_death ON dead_jobs (died_at DESC, id);
DROP INDEX jobs_parked_in_order;
DROP INDEX jobs_timed;
DROP TABLE actions;
DROP TABLE ended_jobs;
DROP TABLE job_minutes;
DROP TABLE job_cancellations;
DROP TABLE queue_pauses;
DROP TABLE workers;
