-- What an account has, as a file for its owner. The file lies in the store of pictures, under an id of its own.

CREATE TABLE account_exports (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  -- Null until it is made.
  file_id text COLLATE "C" CHECK (file_id ~ '^[0-9a-f]{32}$'),
  bytes bigint,
  -- Why it could not be made.
  failure text,
  -- When it goes, with its tokens.
  expires_at timestamptz,
  CHECK ((file_id IS NULL) = (bytes IS NULL)),
  CHECK ((expires_at IS NULL) = (num_nonnulls(file_id, failure) = 0))
);

-- One at a time for an account.
CREATE UNIQUE INDEX account_exports_running ON account_exports (account_id) WHERE expires_at IS NULL;
CREATE INDEX account_exports_of_account ON account_exports (account_id);
CREATE INDEX account_exports_by_expiry ON account_exports (expires_at);
CREATE INDEX account_exports_by_file ON account_exports (file_id) WHERE file_id IS NOT NULL;

-- Only the hash of a token is kept, as of sessions.
CREATE TABLE account_export_tokens (
  token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
  export_id bigint NOT NULL REFERENCES account_exports ON DELETE CASCADE
);

CREATE INDEX account_export_tokens_of_export ON account_export_tokens (export_id);

-- down

-- The files follow as orphans.
DROP TABLE account_export_tokens;
DROP TABLE account_exports;
