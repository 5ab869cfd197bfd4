-- What is done again and again: a row for each schedule that a worker has known, and one for each tick that has fired.

CREATE TABLE schedules (
  name text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 64),
  -- For people, and to see that a newer version has another.
  timing text NOT NULL,
  -- Of the jobs that it asks for.
  kind text NOT NULL,
  paused boolean NOT NULL DEFAULT false,
  -- Ticks up to this moment have fired or never will. Whoever fires holds this row's lock.
  decided_until timestamptz NOT NULL,
  last_tick timestamptz,
  -- As it looked at the last change; null for none, or while it is paused.
  next_tick timestamptz
);

-- The key is what makes a tick fire once. The newest 1,000 or so of each schedule are kept.
CREATE TABLE schedule_ticks (
  schedule text NOT NULL REFERENCES schedules ON DELETE CASCADE,
  tick timestamptz NOT NULL,
  -- The job it asked for, which was left out if another with its unique key was owed.
  job_id uuid NOT NULL,
  fired_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (schedule, tick)
);

-- down

DROP TABLE schedule_ticks;
DROP TABLE schedules;
