-- Processes whose machine's clock is off by more than a second, as they say themselves every few seconds: for the doctor.
CREATE TABLE process_clocks (
  -- Unique among all that run.
  process text PRIMARY KEY,
  program text NOT NULL,
  host text NOT NULL,
  -- Negative where it is behind.
  ahead_ms bigint NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now()
);

-- down

DROP TABLE process_clocks;
