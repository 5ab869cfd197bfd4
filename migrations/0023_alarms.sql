-- A queue's oldest job waits, or runs, longer than its limit: a row from then on. At most one of a kind is open, whoever looks, so
-- that it is told once, and once when it is over.
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

-- What the process that leads in watching saw last: one row, which every process's /metrics and the autoscaling route read.
CREATE TABLE stack_samples (
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  sampled_at timestamptz NOT NULL,
  sample jsonb NOT NULL
) WITH (fillfactor = 10);

-- down

DROP TABLE stack_samples;
DROP TABLE alarms;
