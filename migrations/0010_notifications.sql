-- What an account is told: that somebody likes a post of theirs (type 0), comments on one (1), or follows them (2).
--
-- What orders likes, unlikes and the jobs that write notifications
--   A job says "look again at this like", never "write" or "take away". It is owed by the transaction that changed the like,
--   so it runs after that change is visible. It locks the owner's row of notification_counts first, and its next statement,
--   whose snapshot (READ COMMITTED) is therefore taken under the lock, makes the notification what the likes say. So jobs of
--   one owner run one after the other; the job of the last change sees that change, and so does whichever runs after it. The
--   last to run leaves what is right, in whatever order they come and however often.
--   A like that was taken back and made again has another time, and the notification has the time of what it tells: it is
--   replaced, and unread, no matter whether a job looked in between.
--   A follow is told once. When it ends, a notification that was not checked goes, since there is nothing to tell any more;
--   one that was checked stays as it is until it is trimmed, and following again adds none to it: nobody can light the red
--   dot again and again.
-- Whatever writes notifications locks the owners' rows first, in the order of their ids (`lock_notification_owners`), so that
-- no two wait for each other.

-- Whether the followee is to be told. Follows that came by import are no news.
ALTER TABLE follows ADD COLUMN is_announced boolean NOT NULL DEFAULT false;

-- A row an owner: what is counted is read in one step. Half-filled pages, so that counting rewrites a row within its page.
CREATE TABLE notification_counts (
  owner_id bigint PRIMARY KEY,
  -- How many notifications are kept, and how many of them are not checked.
  kept bigint NOT NULL DEFAULT 0,
  unread bigint NOT NULL DEFAULT 0,
  -- Notifications up to this id are checked, whatever their own column says.
  checked_until bigint NOT NULL DEFAULT 0,
  -- What happened up to this time may have been trimmed and is not told again.
  trimmed_until timestamptz NOT NULL DEFAULT '-infinity',
  CONSTRAINT notification_counts_right CHECK (0 <= unread AND unread <= kept)
) WITH (fillfactor = 50);

-- Ids are given under the owner's lock, so they grow in the order in which an owner's notifications become visible: who has
-- seen an id has seen all that are below it. They are even; the next odd number names the group that the notification is the
-- newest of. No cache: it would give ids in another order to another session.
CREATE SEQUENCE notification_id_sequence INCREMENT BY 2 START 2 CACHE 1;

CREATE TABLE notifications (
  owner_id bigint NOT NULL,
  id bigint NOT NULL DEFAULT nextval('notification_id_sequence'),
  -- 0 where the type has no post or no comment, so that they can be part of a key.
  post_id bigint NOT NULL DEFAULT 0,
  actor_id bigint NOT NULL,
  comment_id bigint NOT NULL DEFAULT 0,
  -- When what it tells of happened.
  created_at timestamptz NOT NULL,
  type smallint NOT NULL,
  checked boolean NOT NULL DEFAULT false,
  PRIMARY KEY (owner_id, id),
  CONSTRAINT notifications_not_to_oneself CHECK (owner_id <> actor_id),
  CONSTRAINT notifications_type CHECK (type BETWEEN 0 AND 2)
);

-- What a notification tells is told once.
CREATE UNIQUE INDEX notifications_subject ON notifications (owner_id, post_id, type, actor_id, comment_id);

-- Likes of one post whose times fall into one window are one item for a reader: a day, in UTC.
CREATE FUNCTION notification_window(at timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN floor(extract(epoch FROM at) / 86400)::bigint;

-- The counts follow the rows in the statement that writes them, whatever statement that is.

CREATE FUNCTION count_added_notifications() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO notification_counts AS counts (owner_id, kept, unread)
    SELECT owner_id, count(*), count(*) FILTER (WHERE NOT checked) FROM added GROUP BY owner_id ORDER BY owner_id
    ON CONFLICT (owner_id) DO UPDATE SET kept = counts.kept + excluded.kept, unread = counts.unread + excluded.unread;
  RETURN NULL;
END $$;

CREATE FUNCTION count_removed_notifications() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE notification_counts counts SET kept = counts.kept - less.kept, unread = counts.unread - less.unread
    FROM (
      SELECT removed.owner_id, count(*) AS kept,
        count(*) FILTER (WHERE NOT removed.checked AND removed.id > had.checked_until) AS unread
      FROM removed JOIN notification_counts had ON had.owner_id = removed.owner_id
      GROUP BY removed.owner_id
    ) less WHERE counts.owner_id = less.owner_id;
  RETURN NULL;
END $$;

CREATE FUNCTION count_changed_notifications() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE notification_counts counts SET unread = counts.unread + change.unread
    FROM (
      SELECT rows.owner_id, sum(rows.sign) FILTER (WHERE NOT rows.checked AND rows.id > had.checked_until) AS unread
      FROM (
        SELECT owner_id, id, checked, 1 AS sign FROM after_change
        UNION ALL
        SELECT owner_id, id, checked, -1 FROM before_change
      ) rows JOIN notification_counts had ON had.owner_id = rows.owner_id
      GROUP BY rows.owner_id
    ) change WHERE counts.owner_id = change.owner_id AND change.unread <> 0;
  RETURN NULL;
END $$;

CREATE TRIGGER count_added AFTER INSERT ON notifications
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_added_notifications();
CREATE TRIGGER count_removed AFTER DELETE ON notifications
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_removed_notifications();
CREATE TRIGGER count_changed AFTER UPDATE ON notifications
  REFERENCING OLD TABLE AS before_change NEW TABLE AS after_change
  FOR EACH STATEMENT EXECUTE FUNCTION count_changed_notifications();

-- Locks the owners' rows, in the order of their ids, and makes those that are not there.
CREATE FUNCTION lock_notification_owners(owners bigint[]) RETURNS void
LANGUAGE plpgsql SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO notification_counts (owner_id)
    SELECT DISTINCT owner FROM unnest(owners) owner
      WHERE NOT EXISTS (SELECT FROM notification_counts known WHERE known.owner_id = owner)
      ORDER BY owner
    ON CONFLICT DO NOTHING;
  PERFORM FROM notification_counts WHERE owner_id = ANY (owners) ORDER BY owner_id FOR NO KEY UPDATE;
END $$;

-- Makes notifications what likes, comments and follows say; each place of the arrays asks about one, none twice. Returns the
-- owners who have more than `most`.
--
-- Planned for lookups by key, also while statistics of a young table would say that it is small enough to be read whole.
CREATE FUNCTION update_notifications(
  owners bigint[], types smallint[], posts bigint[], actors bigint[], comments bigint[], most bigint
) RETURNS SETOF bigint
LANGUAGE plpgsql SET jit = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
  -- When each happened; null for what is not so, or not any more.
  times timestamptz[];
BEGIN
  PERFORM lock_notification_owners(owners);
  times := ARRAY(
    SELECT CASE
        WHEN owner = actor THEN NULL
        WHEN type = 0 THEN (
          SELECT l.created_at FROM likes l JOIN posts p ON p.id = l.post_id
            WHERE l.post_id = post AND l.account_id = actor AND p.author_id = owner)
        WHEN type = 1 THEN (
          SELECT c.created_at FROM comments c JOIN posts p ON p.id = c.post_id
            WHERE c.post_id = post AND c.id = comment AND c.account_id = actor AND p.author_id = owner)
        WHEN type = 2 THEN (
          SELECT f.created_at FROM follows f
            WHERE f.followee_id = owner AND f.follower_id = actor AND f.is_announced)
      END
      FROM unnest(owners, types, posts, actors, comments) WITH ORDINALITY
        AS asked (owner, type, post, actor, comment, place)
      ORDER BY place);
  IF array_position(times, NULL) IS NOT NULL THEN
    DELETE FROM notifications n
      USING unnest(owners, types, posts, actors, comments, times) AS asked (owner, type, post, actor, comment, at),
        notification_counts c
      WHERE at IS NULL AND c.owner_id = owner AND n.owner_id = owner AND n.post_id = post AND n.type = asked.type
        AND n.actor_id = actor AND n.comment_id = comment
        AND NOT (n.type = 2 AND (n.checked OR n.id <= c.checked_until));
  END IF;
  INSERT INTO notifications AS n (owner_id, type, post_id, actor_id, comment_id, created_at)
    SELECT owner, type, post, actor, comment, at
      FROM unnest(owners, types, posts, actors, comments, times) AS asked (owner, type, post, actor, comment, at)
      JOIN notification_counts c ON c.owner_id = owner
      WHERE at > c.trimmed_until
      ORDER BY owner, at
    ON CONFLICT (owner_id, post_id, type, actor_id, comment_id) DO UPDATE
      SET id = excluded.id, created_at = excluded.created_at, checked = false
      WHERE n.created_at <> excluded.created_at
        AND NOT (n.type = 2 AND (
          n.checked OR n.id <= (SELECT c.checked_until FROM notification_counts c WHERE c.owner_id = n.owner_id)));
  RETURN QUERY
    SELECT owner_id FROM notification_counts WHERE owner_id = ANY (owners) AND kept > most ORDER BY owner_id;
END $$;

-- Checks an owner's notifications up to an id. What comes later has a greater id than any there is now, so no number, however
-- great, checks what was not there to be seen; and a smaller one than the last changes nothing.
CREATE FUNCTION check_notifications_up_to(owner bigint, up_to bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  newest bigint;
BEGIN
  PERFORM lock_notification_owners(ARRAY[owner]);
  SELECT max(id) INTO newest FROM notifications WHERE owner_id = owner AND id <= up_to;
  UPDATE notification_counts SET checked_until = newest, unread = (
      SELECT count(*) FROM notifications n WHERE n.owner_id = owner AND n.id > newest AND NOT n.checked)
    WHERE owner_id = owner AND checked_until < newest;
END $$;

-- Checks those of `ids` that are the owner's, an odd one with its group as it was when that was the newest of it. Returns how
-- many of the ids are the owner's.
CREATE FUNCTION check_notifications(owner bigint, ids bigint[]) RETURNS bigint
LANGUAGE plpgsql SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
  found bigint;
BEGIN
  PERFORM lock_notification_owners(ARRAY[owner]);
  SELECT count(*) INTO found
    FROM unnest(ids) given JOIN notifications n ON n.owner_id = owner AND n.id = given & ~1::bigint;
  UPDATE notifications SET checked = true
    WHERE owner_id = owner AND NOT checked
      AND id > (SELECT checked_until FROM notification_counts c WHERE c.owner_id = owner)
      AND id = ANY (ARRAY(
        SELECT given & ~1::bigint FROM unnest(ids) given
        UNION
        SELECT other.id FROM unnest(ids) given
          JOIN notifications n ON n.owner_id = owner AND n.id = given & ~1::bigint
          JOIN notifications other ON other.owner_id = owner AND other.post_id = n.post_id AND other.type = n.type
          WHERE given & 1 = 1 AND n.type = 0 AND other.id < n.id
            AND notification_window(other.created_at) = notification_window(n.created_at)));
  RETURN found;
END $$;

-- Takes away up to `budget` notifications, likes and comments each of a post that is gone; returns whether there may be more.
CREATE FUNCTION sweep_post(post bigint, author bigint, budget bigint) RETURNS boolean
LANGUAGE plpgsql SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
  swept bigint;
  most bigint;
BEGIN
  IF EXISTS (SELECT FROM posts WHERE id = post) THEN
    RETURN false;
  END IF;
  PERFORM lock_notification_owners(ARRAY[author]);
  DELETE FROM notifications WHERE owner_id = author AND id = ANY (ARRAY(
    SELECT id FROM notifications WHERE owner_id = author AND post_id = post LIMIT budget));
  GET DIAGNOSTICS most = ROW_COUNT;
  DELETE FROM likes WHERE post_id = post AND account_id = ANY (ARRAY(
    SELECT account_id FROM likes WHERE post_id = post LIMIT budget));
  GET DIAGNOSTICS swept = ROW_COUNT;
  most := greatest(most, swept);
  DELETE FROM comments WHERE post_id = post AND id = ANY (ARRAY(
    SELECT id FROM comments WHERE post_id = post LIMIT budget));
  GET DIAGNOSTICS swept = ROW_COUNT;
  RETURN greatest(most, swept) >= budget;
END $$;

-- Trims up to `budget` notifications of one owner: those older than `oldest`, and the oldest of those beyond `keep`. Returns how
-- many went.
CREATE FUNCTION trim_notifications(owner bigint, keep bigint, oldest timestamptz, budget bigint) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  too_many bigint;
  ids bigint[];
BEGIN
  PERFORM lock_notification_owners(ARRAY[owner]);
  SELECT kept - keep INTO too_many FROM notification_counts WHERE owner_id = owner;
  ids := ARRAY(
    SELECT id FROM (
      SELECT id, created_at, row_number() OVER (ORDER BY id) AS place FROM notifications WHERE owner_id = owner
    ) numbered WHERE place <= too_many OR created_at < oldest ORDER BY id LIMIT budget);
  IF cardinality(ids) = 0 THEN
    RETURN 0;
  END IF;
  -- Before they go: their times say what is not to be told again.
  UPDATE notification_counts SET trimmed_until = greatest(trimmed_until, (
      SELECT max(created_at) FROM notifications WHERE owner_id = owner AND id = ANY (ids)))
    WHERE owner_id = owner;
  DELETE FROM notifications WHERE owner_id = owner AND id = ANY (ids);
  RETURN cardinality(ids);
END $$;

-- down

DROP FUNCTION trim_notifications(bigint, bigint, timestamptz, bigint);
DROP FUNCTION sweep_post(bigint, bigint, bigint);
DROP FUNCTION check_notifications(bigint, bigint[]);
DROP FUNCTION check_notifications_up_to(bigint, bigint);
DROP FUNCTION update_notifications(bigint[], smallint[], bigint[], bigint[], bigint[], bigint);
DROP FUNCTION lock_notification_owners(bigint[]);
DROP TABLE notifications;
DROP FUNCTION count_changed_notifications();
DROP FUNCTION count_removed_notifications();
DROP FUNCTION count_added_notifications();
DROP FUNCTION notification_window(timestamptz);
DROP SEQUENCE notification_id_sequence;
DROP TABLE notification_counts;
ALTER TABLE follows DROP COLUMN is_announced;
