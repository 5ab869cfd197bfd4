-- What a POST with an Idempotency-Key was answered, so that the same request sent again gets the same answer.

CREATE TABLE idempotency_keys (
  -- 0: a request without an account, such as registering.
  account_id bigint NOT NULL,
  key text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  request_hash bytea NOT NULL,
  -- Null while the first request is still under way in its transaction.
  status integer,
  response bytea,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, key)
);

CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- down

DROP TABLE idempotency_keys;
