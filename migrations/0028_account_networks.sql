-- From where accounts were signed in to: an owner still gets in from there while strangers guess at the password from everywhere.

-- Not in sessions: those end with a sign-out, after 30 days, or with a new password.
CREATE TABLE account_networks (
  account_id bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
  -- Of IPv4 the first 24 bits, of IPv6 the first 48.
  network text NOT NULL,
  -- When the last session was opened from there, to the day.
  seen_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, network)
);

CREATE INDEX account_networks_age ON account_networks (seen_at);

-- down

DROP TABLE account_networks;
