-- When a budget that the service calls spent is asked for again, and what each account has asked for.

ALTER TABLE youtube_quota
  -- Set where the service called a budget spent of which little was used: one call asks again then. Null: not that day.
  ADD COLUMN ask_again_at timestamptz,
  -- How often in a row the service has called it spent: the pauses grow with it.
  ADD COLUMN refusals integer NOT NULL DEFAULT 0;

CREATE TABLE youtube_account_quota (
  account_id bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
  -- A day in California.
  day date NOT NULL,
  budget text NOT NULL CHECK (budget IN ('searches', 'units')),
  booked bigint NOT NULL,
  PRIMARY KEY (account_id, day, budget)
);

CREATE INDEX youtube_account_quota_by_day ON youtube_account_quota (day);

-- down

DROP TABLE youtube_account_quota;
ALTER TABLE youtube_quota DROP COLUMN refusals, DROP COLUMN ask_again_at;
