-- Accounts that operators have closed to their owners.

ALTER TABLE accounts
  ADD COLUMN suspended_at timestamptz,
  ADD COLUMN suspension_reason text CHECK (length(suspension_reason) <= 500),
  ADD CONSTRAINT accounts_suspension CHECK ((suspended_at IS NULL) = (suspension_reason IS NULL));

CREATE INDEX accounts_suspended ON accounts (id) WHERE suspended_at IS NOT NULL;

-- down

DROP INDEX accounts_suspended;
ALTER TABLE accounts DROP CONSTRAINT accounts_suspension, DROP COLUMN suspension_reason, DROP COLUMN suspended_at;
