-- Accounts that nobody else sees: suspended ones, and those whose owners have deleted them.
--
-- A deleted account's row goes in the transaction that deletes it, and what it wrote in batches afterwards, by the job
-- `accounts.remove`. A suspended account keeps everything, so that restoring it brings back exactly that. Both are named
-- here meanwhile, in a table that is small: a list that leaves them out reads few rows more.
--
-- A trigger writes it, so an account is hidden in the transaction that suspends or deletes it, whatever statement does.

CREATE TABLE hidden_accounts (
  account_id bigint PRIMARY KEY,
  is_deleted boolean NOT NULL,
  hidden_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Of a deleted account: the transactions that may still write for it, once somebody has looked.
  writers text[]
);

CREATE FUNCTION hide_account() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO hidden_accounts AS hidden (account_id, is_deleted) VALUES (OLD.id, true)
      ON CONFLICT (account_id) DO UPDATE SET is_deleted = true, hidden_at = excluded.hidden_at;
  ELSIF NEW.suspended_at IS NULL THEN
    DELETE FROM hidden_accounts WHERE account_id = NEW.id;
  ELSE
    INSERT INTO hidden_accounts (account_id, is_deleted) VALUES (NEW.id, false) ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER hide_account AFTER DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION hide_account();
CREATE TRIGGER hide_suspended_account AFTER UPDATE OF suspended_at ON accounts FOR EACH ROW
  WHEN ((OLD.suspended_at IS NULL) <> (NEW.suspended_at IS NULL)) EXECUTE FUNCTION hide_account();

INSERT INTO hidden_accounts (account_id, is_deleted) SELECT id, false FROM accounts WHERE suspended_at IS NOT NULL;

-- What an account wrote outlives its row for a moment.
ALTER TABLE posts DROP CONSTRAINT posts_author_id_fkey;
ALTER TABLE media DROP CONSTRAINT media_owner_id_fkey;

-- To find what an account has written, and what others were told of it. A like's or a comment's notification goes with
-- the like or the comment; one of a follow that was checked outlives the follow.
CREATE INDEX comments_by_account ON comments (account_id, post_id, id);
CREATE INDEX notifications_of_follows ON notifications (actor_id, owner_id) WHERE type = 2;

-- The transactions of this database that have begun and not ended, each by its virtual id.
CREATE FUNCTION running_transactions() RETURNS text[]
LANGUAGE sql VOLATILE
RETURN ARRAY(
  SELECT l.virtualtransaction FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'virtualxid' AND l.granted AND l.virtualxid = l.virtualtransaction AND l.pid <> pg_backend_pid()
      AND a.datid = (SELECT oid FROM pg_database WHERE datname = current_database())
      -- No vacuum: it writes for nobody, and may take hours.
      AND a.usesysid IS NOT NULL);

-- Whether nobody writes for a deleted account any more.
--
-- Whoever writes for an account looks in the same transaction whether it is there. So a transaction that begins after
-- the account's end writes nothing, and once those that had begun before are over, what is there is all there will be.
CREATE FUNCTION has_no_writers(account bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  left_over text[];
BEGIN
  SELECT writers INTO left_over FROM hidden_accounts WHERE account_id = account AND is_deleted FOR UPDATE;
  IF NOT FOUND THEN
    RETURN true;
  END IF;
  left_over := CASE WHEN left_over IS NULL THEN running_transactions()
    WHEN left_over = '{}' THEN '{}'
    ELSE ARRAY(SELECT unnest(left_over) INTERSECT SELECT unnest(running_transactions())) END;
  UPDATE hidden_accounts SET writers = left_over WHERE account_id = account;
  RETURN left_over = '{}';
END $$;

-- Locks the owners' rows, in the order of their ids, and makes those that are not there, unless the account is gone.
CREATE OR REPLACE FUNCTION lock_notification_owners(owners bigint[]) RETURNS void
LANGUAGE plpgsql SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO notification_counts (owner_id)
    SELECT DISTINCT owner FROM unnest(owners) owner
      WHERE NOT EXISTS (SELECT FROM notification_counts known WHERE known.owner_id = owner)
        AND EXISTS (SELECT FROM accounts a WHERE a.id = owner)
      ORDER BY owner
    ON CONFLICT DO NOTHING;
  PERFORM FROM notification_counts WHERE owner_id = ANY (owners) ORDER BY owner_id FOR NO KEY UPDATE;
END $$;

-- Sends a message. `message` is null where the sender has sent `most` within a minute; then `wait` says how many seconds are
-- left. All are null where one of the two accounts is gone.
CREATE OR REPLACE FUNCTION send_message(
  sender bigint, recipient bigint, said text, most integer, OUT message bigint, OUT sent_at timestamptz, OUT wait integer
) LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz;
  box inboxes;
BEGIN
  IF (SELECT count(*) FROM accounts WHERE id IN (sender, recipient)) < 2 THEN
    RETURN;
  END IF;
  INSERT INTO inboxes (owner_id) SELECT owner FROM unnest(ARRAY[sender, recipient]) owner
    WHERE NOT EXISTS (SELECT FROM inboxes i WHERE i.owner_id = owner) ORDER BY owner
    ON CONFLICT DO NOTHING;
  PERFORM FROM inboxes WHERE owner_id IN (sender, recipient) ORDER BY owner_id FOR NO KEY UPDATE;
  moment := clock_timestamp();
  SELECT * INTO box FROM inboxes WHERE owner_id = sender;
  IF box.sending_since <= moment - interval '1 minute' THEN
    UPDATE inboxes SET sent = 1, sending_since = moment WHERE owner_id = sender;
  ELSIF box.sent < most THEN
    UPDATE inboxes SET sent = box.sent + 1 WHERE owner_id = sender;
  ELSE
    wait := greatest(1, ceil(extract(epoch FROM box.sending_since + interval '1 minute' - moment)));
    RETURN;
  END IF;
  message := nextval('message_id_sequence');
  sent_at := moment;
  INSERT INTO messages (owner_id, peer_id, id, is_own, text, created_at)
    VALUES (sender, recipient, message, true, said, moment), (recipient, sender, message, false, said, moment);
  INSERT INTO conversations AS c (owner_id, peer_id, last_id, unread)
    VALUES (sender, recipient, message, 0), (recipient, sender, message, 1)
    ON CONFLICT (owner_id, peer_id) DO UPDATE SET last_id = excluded.last_id, unread = c.unread + excluded.unread;
  UPDATE inboxes SET unread = unread + 1 WHERE owner_id = recipient;
END $$;

-- Tokens with which an owner who has no password deletes an account.

-- Only the hash of a token is kept.
CREATE TABLE deletion_tokens (
  token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
  account_id bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
  expires_at timestamptz NOT NULL
);

CREATE INDEX deletion_tokens_account ON deletion_tokens (account_id);
CREATE INDEX deletion_tokens_expiry ON deletion_tokens (expires_at);

-- down

DROP TABLE deletion_tokens;

CREATE OR REPLACE FUNCTION send_message(
  sender bigint, recipient bigint, said text, most integer, OUT message bigint, OUT sent_at timestamptz, OUT wait integer
) LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz;
  box inboxes;
BEGIN
  INSERT INTO inboxes (owner_id) SELECT owner FROM unnest(ARRAY[sender, recipient]) owner
    WHERE NOT EXISTS (SELECT FROM inboxes i WHERE i.owner_id = owner) ORDER BY owner
    ON CONFLICT DO NOTHING;
  PERFORM FROM inboxes WHERE owner_id IN (sender, recipient) ORDER BY owner_id FOR NO KEY UPDATE;
  moment := clock_timestamp();
  SELECT * INTO box FROM inboxes WHERE owner_id = sender;
  IF box.sending_since <= moment - interval '1 minute' THEN
    UPDATE inboxes SET sent = 1, sending_since = moment WHERE owner_id = sender;
  ELSIF box.sent < most THEN
    UPDATE inboxes SET sent = box.sent + 1 WHERE owner_id = sender;
  ELSE
    wait := greatest(1, ceil(extract(epoch FROM box.sending_since + interval '1 minute' - moment)));
    RETURN;
  END IF;
  message := nextval('message_id_sequence');
  sent_at := moment;
  INSERT INTO messages (owner_id, peer_id, id, is_own, text, created_at)
    VALUES (sender, recipient, message, true, said, moment), (recipient, sender, message, false, said, moment);
  INSERT INTO conversations AS c (owner_id, peer_id, last_id, unread)
    VALUES (sender, recipient, message, 0), (recipient, sender, message, 1)
    ON CONFLICT (owner_id, peer_id) DO UPDATE SET last_id = excluded.last_id, unread = c.unread + excluded.unread;
  UPDATE inboxes SET unread = unread + 1 WHERE owner_id = recipient;
END $$;

CREATE OR REPLACE FUNCTION lock_notification_owners(owners bigint[]) RETURNS void
LANGUAGE plpgsql SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO notification_counts (owner_id)
    SELECT DISTINCT owner FROM unnest(owners) owner
      WHERE NOT EXISTS (SELECT FROM notification_counts known WHERE known.owner_id = owner)
      ORDER BY owner
    ON CONFLICT DO NOTHING;
  PERFORM FROM notification_counts WHERE owner_id = ANY (owners) ORDER BY owner_id FOR NO KEY UPDATE;
END $$;

DROP FUNCTION has_no_writers(bigint);
DROP FUNCTION running_transactions();
DROP INDEX notifications_of_follows;
DROP INDEX comments_by_account;
-- What deleted accounts have left goes now: the schema before this one has no place for it.
DELETE FROM posts p WHERE NOT EXISTS (SELECT FROM accounts a WHERE a.id = p.author_id);
DELETE FROM media m WHERE owner_id IS NOT NULL AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = m.owner_id);
ALTER TABLE media ADD CONSTRAINT media_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES accounts ON DELETE CASCADE;
ALTER TABLE posts ADD CONSTRAINT posts_author_id_fkey FOREIGN KEY (author_id) REFERENCES accounts ON DELETE CASCADE;
DROP TRIGGER hide_suspended_account ON accounts;
DROP TRIGGER hide_account ON accounts;
DROP FUNCTION hide_account();
DROP TABLE hidden_accounts;
