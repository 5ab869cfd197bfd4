-- What the keys of the YouTube Data API have spent, and which of them do not work. A key itself stands nowhere, only its label.

CREATE TABLE youtube_keys (
  label text PRIMARY KEY,
  -- Null: it is in use.
  disabled_at timestamptz,
  -- The service's word for why it refused the key, and its sentence.
  reason text,
  message text
);

CREATE TABLE youtube_quota (
  key text NOT NULL,
  -- A day in California.
  day date NOT NULL,
  budget text NOT NULL CHECK (budget IN ('searches', 'units')),
  -- Set aside for calls that are under way, or whose worker died.
  reserved bigint NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  spent bigint NOT NULL DEFAULT 0 CHECK (spent >= 0),
  -- What the last reservation got.
  granted bigint NOT NULL DEFAULT 0,
  -- The service itself said so, whatever was counted here.
  is_spent_out boolean NOT NULL DEFAULT false,
  PRIMARY KEY (key, day, budget)
) WITH (
  -- A few rows that change all the time: room on their pages keeps them there.
  fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000
);

-- down

DROP TABLE youtube_quota;
DROP TABLE youtube_keys;
