-- The ledger: a row for every durable job that is owed, from the transaction that asked for it until the one that did it.
--
-- The key leads with the queue, so that one index serves completing by id, sweeping a queue in the order of its ids (which
-- is the order of time) and distribution by queue.
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
  PRIMARY KEY (queue, id)
) WITH (
  -- Rows live for milliseconds: the table stays small only if what they leave is cleaned up often.
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0
);

CREATE UNIQUE INDEX jobs_unique_key ON jobs (queue, unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX jobs_parked ON jobs (queue, kind) WHERE parked;
CREATE INDEX jobs_failed ON jobs (queue, id) WHERE failures IS NOT NULL;

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
  died_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX dead_jobs_by_death ON dead_jobs (died_at DESC, id);

-- down

DROP TABLE dead_jobs;
DROP TABLE jobs;
