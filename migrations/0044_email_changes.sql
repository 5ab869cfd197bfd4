-- Addresses that accounts are to have once somebody who reads their mail says so.

ALTER TABLE accounts
  -- Of an account that was opened where addresses are confirmed: nobody signs in to it before.
  ADD COLUMN awaits_confirmation boolean NOT NULL DEFAULT false;

-- What an account's owner asked for last. What was asked for before is worth nothing any more.
CREATE TABLE email_changes (
  account_id bigint PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
  email text NOT NULL CHECK (email ~ '^[^@[:space:]]+@[^@[:space:]]+$' AND length(email) <= 254),
  expires_at timestamptz NOT NULL
);

CREATE INDEX email_changes_expiry ON email_changes (expires_at);

-- Only the hash of a token is kept: who reads this table can confirm nothing with what it holds.
CREATE TABLE email_tokens (
  token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
  account_id bigint NOT NULL REFERENCES email_changes ON DELETE CASCADE,
  -- The address that the token was sent to.
  email text NOT NULL
);

CREATE INDEX email_tokens_account ON email_tokens (account_id);

-- down

DROP TABLE email_tokens;
DROP TABLE email_changes;
ALTER TABLE accounts DROP COLUMN awaits_confirmation;
