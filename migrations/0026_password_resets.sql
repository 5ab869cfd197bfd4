-- Tokens with which an account gets another password.

-- Only the hash of a token is kept: who reads this table can reset nothing with what it holds.
CREATE TABLE password_resets (
  token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
  account_id bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
  -- An hour after it was made, or when this token or another of the account was used.
  expires_at timestamptz NOT NULL
);

CREATE INDEX password_resets_account ON password_resets (account_id);
CREATE INDEX password_resets_expiry ON password_resets (expires_at);

-- down

DROP TABLE password_resets;
