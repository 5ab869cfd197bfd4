-- How often a password was tried for an address, so that nobody tries many.

CREATE TABLE sign_in_attempts (
  -- SHA-256 of the address in lower case; addresses that no account has are counted as well, or refusals would tell.
  address_hash bytea PRIMARY KEY CHECK (length(address_hash) = 32),
  attempts integer NOT NULL,
  -- When counting began.
  since timestamptz NOT NULL
);

CREATE INDEX sign_in_attempts_age ON sign_in_attempts (since);

-- down

DROP TABLE sign_in_attempts;
