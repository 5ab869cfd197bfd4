-- Accounts and their sessions.

CREATE TABLE accounts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  username text NOT NULL CONSTRAINT accounts_username_form
    CHECK (username ~ '^[A-Za-z0-9][A-Za-z0-9._+-]*$' AND length(username) <= 100),
  email text CONSTRAINT accounts_email_form CHECK (email ~ '^[^@[:space:]]+@[^@[:space:]]+$' AND length(email) <= 254),
  -- A PHC string (algorithm, parameters, salt, hash); null for accounts that came by import and cannot log in by password.
  password_hash text,
  name text NOT NULL DEFAULT '',
  major text NOT NULL DEFAULT '',
  bio text NOT NULL DEFAULT '',
  avatar text,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Names and addresses are unique whatever their case. The C collation makes the same index serve a search by prefix.
CREATE UNIQUE INDEX accounts_username_key ON accounts (lower(username) COLLATE "C");
CREATE UNIQUE INDEX accounts_email_key ON accounts (lower(email)) WHERE email IS NOT NULL;
CREATE INDEX accounts_name_prefix ON accounts (lower(name) COLLATE "C") WHERE name <> '';
CREATE INDEX accounts_major_prefix ON accounts (lower(major) COLLATE "C") WHERE major <> '';

-- Only the hash of a token is kept: who reads this table cannot log in with what it holds.
CREATE TABLE sessions (
  token_hash bytea PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);

CREATE INDEX sessions_account ON sessions (account_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- down

DROP TABLE sessions;
DROP TABLE accounts;
