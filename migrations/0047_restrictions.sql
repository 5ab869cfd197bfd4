-- Who keeps whom away: by a block, which hides each from the other, or by a mute, of which only one knows.
--
-- A row says what one account is not to see of another; a block writes one for each of the two. So whether something is
-- to be left out is one look by key, whoever has blocked whom. Nothing else changes with a block but the follows, which
-- end: what was written stays, and is seen again after it.

CREATE TABLE restrictions (
  account_id bigint NOT NULL,
  other_id bigint NOT NULL,
  -- When the account blocked the other.
  blocked_at timestamptz,
  -- Whether the other has blocked the account.
  is_blocked boolean NOT NULL DEFAULT false,
  -- When the account muted the other.
  muted_at timestamptz,
  PRIMARY KEY (account_id, other_id),
  CONSTRAINT restrictions_not_oneself CHECK (account_id <> other_id),
  CONSTRAINT restrictions_any CHECK (blocked_at IS NOT NULL OR is_blocked OR muted_at IS NOT NULL)
);

CREATE INDEX restrictions_by_other ON restrictions (other_id, account_id);
CREATE INDEX restrictions_blocks ON restrictions (account_id, blocked_at DESC, other_id) WHERE blocked_at IS NOT NULL;
CREATE INDEX restrictions_mutes ON restrictions (account_id, muted_at DESC, other_id) WHERE muted_at IS NOT NULL;

-- down

DROP TABLE restrictions;
