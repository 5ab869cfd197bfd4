-- Keys that sign certificates, and the cards that show them.

CREATE TABLE signing_keys (
  id text PRIMARY KEY,
  public_key bytea NOT NULL,
  -- The private half, sealed with a key of the settings.
  sealed_key bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Signs; all others only check.
  is_current boolean NOT NULL
);

CREATE UNIQUE INDEX signing_keys_current ON signing_keys (is_current) WHERE is_current;

-- Drawn by jobs, and drawn again after a day: titles and pictures change.
CREATE TABLE certificate_cards (
  token_hash bytea PRIMARY KEY,
  account_id bigint NOT NULL,
  svg text NOT NULL,
  png bytea NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX certificate_cards_by_age ON certificate_cards (made_at);
CREATE INDEX certificate_cards_of_account ON certificate_cards (account_id);

-- down

DROP TABLE certificate_cards;
DROP TABLE signing_keys;
