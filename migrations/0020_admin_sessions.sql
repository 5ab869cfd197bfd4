-- Who is signed in to the dashboard, and how often a token was tried.

CREATE TABLE admin_sessions (
  -- SHA-256 of the cookie.
  token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
  -- As the operator calls himself, for the action log.
  name text NOT NULL,
  role text NOT NULL CHECK (role IN ('full', 'read-only')),
  -- Of the admin token that opened it, keyed: when that token is changed, its sessions end.
  opened_with bytea NOT NULL,
  -- What the next page is to say, once.
  notice text,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);

CREATE INDEX admin_sessions_expiry ON admin_sessions (expires_at);

CREATE TABLE admin_sign_in_attempts (
  -- A client's network address; of IPv6 its first 64 bits, which one client has to itself.
  address text PRIMARY KEY,
  attempts integer NOT NULL,
  -- When counting began.
  since timestamptz NOT NULL
);

CREATE INDEX admin_sign_in_attempts_age ON admin_sign_in_attempts (since);

-- down

DROP TABLE admin_sign_in_attempts;
DROP TABLE admin_sessions;
