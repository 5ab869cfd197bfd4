-- What is told to clients that listen, the moment it happens.
--
-- A comment that comes or goes and a lookup that ends have a row here, with ids that become visible in their order: an
-- id is given under a lock that lasts until the commit. So who has seen an id has seen all below it, and a client that
-- connects again goes on from there. Comments get their rows from the job `notifications.update`, a batch at a time,
-- which looks whether the comment is there: so each coming and each going has one row, however often the job runs.
--
-- Rows wake nobody. The same transaction notifies `fanmill_live` with what is to be read again: `t12` a thread, `c12` the
-- counts of a post, `g12` a post that is gone, `a5` an account's notifications, `m5` its messages, `s5` its sessions, `r5`
-- whom it is kept from, `h` that an account is hidden, `k` lookups. Who misses a notification, since the connection was lost, reads everything again.
--
-- Notifications are sent by jobs and by what is rare: a notifying commit waits for the one before it, so a like or a
-- comment must not be one.

CREATE TABLE live_events (
  id bigint PRIMARY KEY,
  post_id bigint,
  comment_id bigint,
  -- Whether the comment went.
  is_removed boolean NOT NULL DEFAULT false,
  lookup_id uuid,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT live_events_one CHECK ((post_id IS NULL) = (comment_id IS NULL) AND (post_id IS NULL) <> (lookup_id IS NULL))
);

CREATE INDEX live_events_by_comment ON live_events (post_id, comment_id, id DESC) WHERE post_id IS NOT NULL;

-- No cache: ids are given in the order of the lock.
CREATE SEQUENCE live_event_id_sequence CACHE 1;

-- The last id that was swept away: who has seen less has missed something.
CREATE TABLE live_floor (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  id bigint NOT NULL
);
INSERT INTO live_floor (id) VALUES (0);

CREATE FUNCTION live_lock() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (3::bigint << 60) | 3;

-- Tells listeners what to read again. A payload has at most 8,000 bytes.
CREATE FUNCTION notify_live(topics text[]) RETURNS void
LANGUAGE sql AS $$
  SELECT pg_notify('fanmill_live', string_agg(topic, ' '))
  FROM (SELECT topic, (row_number() OVER () - 1) / 300 AS part FROM unnest(topics) topic) parts GROUP BY part
$$;

-- Makes the rows of comments what the comments are; each place of the arrays asks about one. To be called last in a
-- transaction, since all others wait from here to its end.
CREATE FUNCTION log_comments(posts bigint[], comments bigint[]) RETURNS void
LANGUAGE plpgsql SET jit = off AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(live_lock());
  INSERT INTO live_events (id, post_id, comment_id, is_removed)
    SELECT nextval('live_event_id_sequence'), post, comment, c.id IS NULL
      FROM (SELECT DISTINCT post, comment FROM unnest(posts, comments) AS a (post, comment) ORDER BY comment) asked
      LEFT JOIN comments c ON c.post_id = post AND c.id = comment AND c.taken_down_at IS NULL
      LEFT JOIN LATERAL (
        SELECT e.is_removed FROM live_events e WHERE e.post_id = post AND e.comment_id = comment ORDER BY e.id DESC LIMIT 1
      ) last ON true
      WHERE CASE
        WHEN c.id IS NULL THEN last.is_removed IS DISTINCT FROM true
        -- What was told a day ago or longer has no row any more.
        ELSE last.is_removed OR (last.is_removed IS NULL AND c.created_at > now() - interval '1 day') END;
END $$;

CREATE FUNCTION log_ended_lookup() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(live_lock());
  INSERT INTO live_events (id, lookup_id) VALUES (nextval('live_event_id_sequence'), NEW.id);
  PERFORM pg_notify('fanmill_live', 'k');
  RETURN NULL;
END $$;

-- Deferred: the lock is taken at the commit, when nothing else is to be waited for.
CREATE CONSTRAINT TRIGGER log_ended AFTER UPDATE OF state ON lookups DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.state IN ('done', 'failed') AND OLD.state NOT IN ('done', 'failed')) EXECUTE FUNCTION log_ended_lookup();

-- Sessions that end, for whatever reason, end their streams.
CREATE FUNCTION notify_ended_sessions() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM notify_live(ARRAY(SELECT DISTINCT 's' || account_id FROM gone));
  RETURN NULL;
END $$;

CREATE TRIGGER notify_ended AFTER DELETE ON sessions
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION notify_ended_sessions();

-- A client tells its other devices what it has read.

CREATE SEQUENCE read_sequence CACHE 1;
ALTER TABLE conversations
  -- The last message that the owner has read.
  ADD COLUMN read_id bigint NOT NULL DEFAULT 0,
  -- Grows with each reading, in the order in which an owner's readings become visible.
  ADD COLUMN read_version bigint NOT NULL DEFAULT 0;
ALTER TABLE notification_counts ADD COLUMN checks bigint NOT NULL DEFAULT 0;

-- Own messages as well, for one's other devices.
CREATE INDEX messages_of_owner ON messages (owner_id, id);
DROP INDEX messages_received;

CREATE FUNCTION notify_messages() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM notify_live(ARRAY(SELECT DISTINCT 'm' || owner_id FROM added));
  RETURN NULL;
END $$;

CREATE TRIGGER notify_added AFTER INSERT ON messages
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION notify_messages();

-- Notes that an owner has read a conversation up to a message. A lower id than was noted before changes nothing.
CREATE OR REPLACE FUNCTION read_messages(owner bigint, peer bigint, up_to bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  had bigint;
  has bigint;
BEGIN
  PERFORM FROM inboxes WHERE owner_id = owner FOR NO KEY UPDATE;
  SELECT unread INTO had FROM conversations WHERE owner_id = owner AND peer_id = peer;
  -- Unread are the newest that came; of those, the ones after `up_to` stay so.
  SELECT count(*) INTO has FROM (
    SELECT id FROM messages WHERE owner_id = owner AND peer_id = peer AND NOT is_own ORDER BY id DESC LIMIT had
  ) newest WHERE id > up_to;
  IF has < had THEN
    UPDATE conversations SET unread = has, read_id = least(up_to, last_id), read_version = nextval('read_sequence')
      WHERE owner_id = owner AND peer_id = peer;
    UPDATE inboxes SET unread = unread - (had - has) WHERE owner_id = owner;
    PERFORM pg_notify('fanmill_live', 'm' || owner);
  END IF;
END $$;

CREATE FUNCTION notify_checked() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  NEW.checks := OLD.checks + 1;
  PERFORM pg_notify('fanmill_live', 'a' || NEW.owner_id);
  RETURN NEW;
END $$;

-- Whatever makes fewer unread without taking one away was a reader.
CREATE TRIGGER notify_checked BEFORE UPDATE ON notification_counts FOR EACH ROW
  WHEN (NEW.unread < OLD.unread AND NEW.kept = OLD.kept) EXECUTE FUNCTION notify_checked();

-- down

DROP TRIGGER notify_checked ON notification_counts;
DROP FUNCTION notify_checked();
DROP TRIGGER notify_added ON messages;
DROP FUNCTION notify_messages();
CREATE INDEX messages_received ON messages (owner_id, id) WHERE NOT is_own;
DROP INDEX messages_of_owner;
ALTER TABLE notification_counts DROP COLUMN checks;
CREATE OR REPLACE FUNCTION read_messages(owner bigint, peer bigint, up_to bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  had bigint;
  has bigint;
BEGIN
  PERFORM FROM inboxes WHERE owner_id = owner FOR NO KEY UPDATE;
  SELECT unread INTO had FROM conversations WHERE owner_id = owner AND peer_id = peer;
  -- Unread are the newest that came; of those, the ones after `up_to` stay so.
  SELECT count(*) INTO has FROM (
    SELECT id FROM messages WHERE owner_id = owner AND peer_id = peer AND NOT is_own ORDER BY id DESC LIMIT had
  ) newest WHERE id > up_to;
  IF has < had THEN
    UPDATE conversations SET unread = has WHERE owner_id = owner AND peer_id = peer;
    UPDATE inboxes SET unread = unread - (had - has) WHERE owner_id = owner;
  END IF;
END $$;
ALTER TABLE conversations DROP COLUMN read_version, DROP COLUMN read_id;
DROP SEQUENCE read_sequence;
DROP TRIGGER notify_ended ON sessions;
DROP FUNCTION notify_ended_sessions();
DROP TRIGGER log_ended ON lookups;
DROP FUNCTION log_ended_lookup();
DROP FUNCTION log_comments(bigint[], bigint[]);
DROP FUNCTION notify_live(text[]);
DROP FUNCTION live_lock();
DROP TABLE live_floor;
DROP SEQUENCE live_event_id_sequence;
DROP TABLE live_events;
