-- Imports from another backend: which record became what, and records that wait for the others.
--
-- A batch writes its rows and their bookkeeping here in one transaction, so an import that is killed or repeated skips
-- what is there. Likes, comments and messages are listed by ids that grow with time, and an export is not in the order
-- of time: they wait in `import_waiting` until all have been read, and are then moved in that order. When an import
-- ends, only `imports` has rows, and `import_pictures` those of pictures whose files were not found.

-- A record of the source has a row from the transaction that took it. The id is that of the account or post, and 0 for
-- records that nothing refers to. It outlives what it names: what a user has deleted since does not come back.
CREATE TABLE imports (
  kind text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  id bigint NOT NULL,
  PRIMARY KEY (kind, source)
);

-- Sign-in data of users whose profile has not been read yet.
CREATE TABLE import_auth (
  uid text COLLATE "C" PRIMARY KEY,
  email text,
  password_hash text,
  name text NOT NULL,
  created_at timestamptz,
  is_disabled boolean NOT NULL,
  -- Its profile was rejected: the account waits for a better one.
  is_held boolean NOT NULL DEFAULT false
);

-- Pictures to be read from the storage's files; of a profile where the post is null. One that is rejected stays, and is
-- tried again by each run.
CREATE TABLE import_pictures (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner_id bigint NOT NULL,
  post_id bigint,
  path text NOT NULL,
  -- Names the picture in messages and in the file of rejected records.
  source text NOT NULL
);

CREATE TABLE import_waiting (
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('likes', 'comments', 'messages')),
  at timestamptz NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  account_id bigint NOT NULL,
  -- The recipient of a message, or the post.
  other_id bigint NOT NULL,
  text text,
  is_read boolean NOT NULL DEFAULT false,
  PRIMARY KEY (kind, at, id)
);

-- What the source says of notifications; `unread` of them were not checked.
CREATE TABLE import_notices (
  owner_id bigint NOT NULL,
  type smallint NOT NULL,
  actor_id bigint NOT NULL,
  post_id bigint NOT NULL,
  unread integer NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (owner_id, type, actor_id, post_id)
);

-- Owners whose notifications are still to be written.
CREATE TABLE import_owners (owner_id bigint PRIMARY KEY);

-- Ids for posts made at these times, in the order given: free ones, and no two the same.
--
-- Ids begin with 2024. Posts from before share the ids of its first hour, eight a second since 1970, so that they too
-- are in the order of time.
CREATE FUNCTION import_post_ids(moments timestamptz[]) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
  early CONSTANT timestamptz := '2024-01-01 01:00:00+00';
  moment timestamptz;
  former timestamptz;
  next_id bigint;
  limit_id bigint;
  ids bigint[] := '{}';
BEGIN
  FOREACH moment IN ARRAY moments LOOP
    -- Posts of one moment go on where the last one ended.
    IF former IS NULL OR former <> moment THEN
      former := moment;
      next_id := CASE WHEN moment < early THEN greatest(1, 8 * floor(extract(epoch FROM moment))::bigint)
        ELSE post_id_at(moment) END;
    END IF;
    WHILE next_id = ANY (ids) OR EXISTS (SELECT FROM posts WHERE id = next_id)
      OR EXISTS (SELECT FROM deleted_posts WHERE id = next_id)
    LOOP
      next_id := next_id + 1;
    END LOOP;
    ids := ids || next_id;
    next_id := next_id + 1;
  END LOOP;
  RETURN ids;
END $$;

-- Adds the next likes in the order of time. `moved` of 0 says that none is left.
CREATE FUNCTION move_imported_likes(batch integer, OUT moved bigint, OUT added bigint)
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  due bigint[];
  until timestamptz;
BEGIN
  SELECT array_agg(id), max(at) INTO due, until FROM (
    SELECT id, at FROM import_waiting WHERE kind = 'likes' ORDER BY at, id LIMIT batch
  ) next;
  PERFORM pg_advisory_xact_lock_shared(post_lock(post)) FROM (
    SELECT DISTINCT other_id AS post FROM import_waiting
    WHERE kind = 'likes' AND at <= until AND id = ANY (due) ORDER BY 1
  ) posts;
  WITH taken AS (
    DELETE FROM import_waiting WHERE kind = 'likes' AND at <= until AND id = ANY (due) RETURNING *
  ), liked AS (
    INSERT INTO likes (post_id, account_id, created_at)
      SELECT p.id, a.id, t.at FROM taken t JOIN posts p ON p.id = t.other_id JOIN accounts a ON a.id = t.account_id
      ORDER BY t.at, t.id
      ON CONFLICT DO NOTHING RETURNING post_id
  ), owners AS (
    INSERT INTO import_owners (owner_id) SELECT DISTINCT p.author_id FROM liked l JOIN posts p ON p.id = l.post_id
      ON CONFLICT DO NOTHING
  )
  SELECT (SELECT count(*) FROM taken), (SELECT count(*) FROM liked) INTO moved, added;
END $$;

CREATE FUNCTION move_imported_comments(batch integer, OUT moved bigint, OUT added bigint)
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  due bigint[];
  until timestamptz;
BEGIN
  SELECT array_agg(id), max(at) INTO due, until FROM (
    SELECT id, at FROM import_waiting WHERE kind = 'comments' ORDER BY at, id LIMIT batch
  ) next;
  PERFORM pg_advisory_xact_lock_shared(post_lock(post)) FROM (
    SELECT DISTINCT other_id AS post FROM import_waiting
    WHERE kind = 'comments' AND at <= until AND id = ANY (due) ORDER BY 1
  ) posts;
  WITH taken AS (
    DELETE FROM import_waiting WHERE kind = 'comments' AND at <= until AND id = ANY (due) RETURNING *
  ), said AS (
    INSERT INTO comments (post_id, account_id, text, created_at)
      SELECT p.id, a.id, t.text, t.at
      FROM taken t JOIN posts p ON p.id = t.other_id JOIN accounts a ON a.id = t.account_id
      ORDER BY t.at, t.id
      RETURNING post_id
  ), owners AS (
    INSERT INTO import_owners (owner_id) SELECT DISTINCT p.author_id FROM said s JOIN posts p ON p.id = s.post_id
      ON CONFLICT DO NOTHING
  )
  SELECT (SELECT count(*) FROM taken), (SELECT count(*) FROM said) INTO moved, added;
END $$;

-- As `send_message`, for many: both copies, the conversations, the counts of what is unread. Who has read a message has
-- read those before it.
CREATE FUNCTION move_imported_messages(batch integer, OUT moved bigint, OUT added bigint)
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  due bigint[];
  until timestamptz;
  owners bigint[];
BEGIN
  SELECT array_agg(id), max(at) INTO due, until FROM (
    SELECT id, at FROM import_waiting WHERE kind = 'messages' ORDER BY at, id LIMIT batch
  ) next;
  owners := ARRAY(
    SELECT DISTINCT a.id FROM import_waiting w JOIN accounts a ON a.id IN (w.account_id, w.other_id)
      WHERE w.kind = 'messages' AND w.at <= until AND w.id = ANY (due) ORDER BY 1);
  INSERT INTO inboxes (owner_id) SELECT owner FROM unnest(owners) owner
    WHERE NOT EXISTS (SELECT FROM inboxes i WHERE i.owner_id = owner) ORDER BY owner
    ON CONFLICT DO NOTHING;
  PERFORM FROM inboxes WHERE owner_id = ANY (owners) ORDER BY owner_id FOR NO KEY UPDATE;
  WITH taken AS (
    DELETE FROM import_waiting WHERE kind = 'messages' AND at <= until AND id = ANY (due) RETURNING *
  ), sent AS MATERIALIZED (
    SELECT nextval('message_id_sequence') AS id, s.* FROM (
      SELECT t.account_id AS sender, t.other_id AS recipient, t.text, t.at, t.is_read FROM taken t
      WHERE t.account_id = ANY (owners) AND t.other_id = ANY (owners) ORDER BY t.at, t.id
    ) s
  ), copies AS MATERIALIZED (
    SELECT sender AS owner_id, recipient AS peer_id, id, true AS is_own, text, at, true AS is_read FROM sent
    UNION ALL SELECT recipient, sender, id, false, text, at, is_read FROM sent
  ), written AS (
    INSERT INTO messages (owner_id, peer_id, id, is_own, text, created_at)
      SELECT owner_id, peer_id, id, is_own, text, at FROM copies ORDER BY owner_id, peer_id, id
  ), ends AS (
    SELECT owner_id, peer_id, max(id) AS last_id, coalesce(max(id) FILTER (WHERE NOT is_own AND is_read), 0) AS read_id
      FROM copies GROUP BY owner_id, peer_id
  ), changes AS MATERIALIZED (
    SELECT e.owner_id, e.peer_id, e.last_id, e.read_id, count(c.id) AS unread
      FROM ends e LEFT JOIN copies c ON c.owner_id = e.owner_id AND c.peer_id = e.peer_id AND NOT c.is_own
        AND NOT c.is_read AND c.id > e.read_id
      GROUP BY e.owner_id, e.peer_id, e.last_id, e.read_id
  ), had AS MATERIALIZED (
    SELECT h.owner_id, h.peer_id, h.unread FROM conversations h JOIN changes c USING (owner_id, peer_id)
  ), kept AS (
    INSERT INTO conversations AS c (owner_id, peer_id, last_id, unread, read_id)
      SELECT owner_id, peer_id, last_id, unread, read_id FROM changes ORDER BY owner_id, peer_id
      ON CONFLICT (owner_id, peer_id) DO UPDATE SET last_id = excluded.last_id,
        unread = CASE WHEN excluded.read_id > 0 THEN excluded.unread ELSE c.unread + excluded.unread END,
        read_id = greatest(c.read_id, excluded.read_id)
  ), counted AS (
    UPDATE inboxes i SET unread = i.unread + d.change FROM (
      SELECT c.owner_id, sum(c.unread - CASE WHEN c.read_id > 0 THEN coalesce(h.unread, 0) ELSE 0 END)::bigint AS change
      FROM changes c LEFT JOIN had h USING (owner_id, peer_id) GROUP BY c.owner_id
    ) d WHERE i.owner_id = d.owner_id AND d.change <> 0
  )
  SELECT (SELECT count(*) FROM taken), (SELECT count(*) FROM sent) INTO moved, added;
END $$;

-- What owners are to have notifications of, up to `moment`: what comes later has a job of its own.
CREATE FUNCTION imported_notices(owners bigint[], moment timestamptz)
RETURNS TABLE (owner_id bigint, type smallint, post_id bigint, actor_id bigint, comment_id bigint, at timestamptz)
LANGUAGE sql STABLE AS $$
  SELECT p.author_id, 0::smallint, l.post_id, l.account_id, 0::bigint, l.created_at
    FROM posts p JOIN likes l ON l.post_id = p.id
    WHERE p.author_id = ANY (owners) AND l.account_id <> p.author_id AND l.created_at <= moment
  UNION ALL
  SELECT p.author_id, 1::smallint, c.post_id, c.account_id, c.id, c.created_at
    FROM posts p JOIN comments c ON c.post_id = p.id
    WHERE p.author_id = ANY (owners) AND c.account_id <> p.author_id AND c.created_at <= moment
  UNION ALL
  SELECT f.followee_id, 2::smallint, 0::bigint, f.follower_id, 0::bigint, f.created_at
    FROM follows f WHERE f.followee_id = ANY (owners) AND f.is_announced AND f.created_at <= moment
$$;

-- Writes the notifications of these owners in the order of time, all checked but those that the source has unread, and
-- only those that the app would have kept: the newest `keep`, none from before `oldest`. Returns owners of too many.
CREATE FUNCTION write_imported_notifications(
  owners bigint[], moment timestamptz, keep bigint, oldest timestamptz
) RETURNS SETOF bigint
LANGUAGE plpgsql SET jit = off AS $$
BEGIN
  PERFORM lock_notification_owners(owners);
  UPDATE follows f SET is_announced = true FROM import_notices n
    WHERE n.owner_id = ANY (owners) AND n.type = 2 AND f.followee_id = n.owner_id AND f.follower_id = n.actor_id
      AND NOT f.is_announced AND f.created_at <= moment;
  -- What is cut counts as trimmed: the audit expects none of it.
  UPDATE notification_counts c SET trimmed_until = greatest(c.trimmed_until, cut.until) FROM (
    SELECT owner_id, max(at) AS until FROM (
      SELECT d.owner_id, d.at, row_number() OVER (PARTITION BY d.owner_id ORDER BY d.at DESC) AS place
      FROM imported_notices(owners, moment) d
    ) ranked WHERE place > keep OR at < oldest GROUP BY owner_id
  ) cut WHERE c.owner_id = cut.owner_id;
  INSERT INTO notifications (owner_id, type, post_id, actor_id, comment_id, created_at, checked)
    SELECT d.owner_id, d.type, d.post_id, d.actor_id, d.comment_id, d.at, d.place > coalesce(n.unread, 0)
    FROM (
      SELECT due.*, row_number() OVER (
        PARTITION BY due.owner_id, due.type, due.actor_id, due.post_id
        ORDER BY due.at DESC, due.comment_id DESC) AS place
      FROM imported_notices(owners, moment) due
    ) d
    JOIN notification_counts c ON c.owner_id = d.owner_id
    LEFT JOIN import_notices n ON n.owner_id = d.owner_id AND n.type = d.type AND n.actor_id = d.actor_id
      AND n.post_id = d.post_id
    WHERE d.at > c.trimmed_until
    ORDER BY d.owner_id, d.at, d.comment_id
    ON CONFLICT DO NOTHING;
  -- A follow's notification stays once it is checked, whether the follow does or not.
  INSERT INTO notifications (owner_id, type, post_id, actor_id, comment_id, created_at, checked)
    SELECT n.owner_id, 2, 0, n.actor_id, 0, n.at, true
    FROM import_notices n JOIN accounts a ON a.id = n.actor_id JOIN notification_counts c ON c.owner_id = n.owner_id
    WHERE n.owner_id = ANY (owners) AND n.type = 2 AND n.unread = 0 AND n.at > c.trimmed_until AND n.at >= oldest
      AND NOT EXISTS (SELECT FROM follows f WHERE f.followee_id = n.owner_id AND f.follower_id = n.actor_id)
    ORDER BY n.owner_id, n.at
    ON CONFLICT DO NOTHING;
  DELETE FROM import_notices WHERE owner_id = ANY (owners);
  DELETE FROM import_owners WHERE owner_id = ANY (owners);
  RETURN QUERY
    SELECT c.owner_id FROM notification_counts c WHERE c.owner_id = ANY (owners) AND c.kept > 2 * keep ORDER BY 1;
END $$;

-- Registers celebs with the hearts that they were given. The source has no times of single hearts, so they are spread
-- evenly from `since` to the last one. What a fan has, or had, here already stays as it is. Returns how many came.
CREATE FUNCTION import_celebs(
  fans bigint[], platforms text[], names text[], sinces timestamptz[], counts bigint[], recents timestamptz[]
) RETURNS bigint
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  added_celebs bigint[];
  added_fans bigint[];
  celeb_ids bigint[];
  moments bigint[];
  given integer[];
  changes integer[];
BEGIN
  PERFORM FROM accounts WHERE id = ANY (fans) ORDER BY id FOR NO KEY UPDATE;
  INSERT INTO celebs (platform, account, state)
    SELECT platform, name, CASE
        WHEN platform <> 'youtube' THEN 'unchecked'
        WHEN EXISTS (SELECT FROM channels h WHERE h.id = name) THEN 'verified'
        ELSE 'pending' END
    FROM (SELECT DISTINCT platform, name FROM unnest(platforms, names) AS g (platform, name)) wanted
    WHERE NOT EXISTS (SELECT FROM celebs c WHERE c.platform = wanted.platform AND c.account = wanted.name)
    ORDER BY 1, 2 ON CONFLICT DO NOTHING;
  WITH added AS (
    INSERT INTO celeb_fans (account_id, celeb_id, since, hearts, reached_at, hearted_at)
      SELECT DISTINCT ON (a.id, c.id) a.id, c.id, g.since, g.hearts,
        CASE WHEN g.hearts > 0 THEN greatest(g.recent, g.since) ELSE g.since END,
        CASE WHEN g.hearts > 0 THEN greatest(g.recent, g.since) END
      FROM unnest(fans, platforms, names, sinces, counts, recents) AS g (fan, platform, name, since, hearts, recent)
      JOIN accounts a ON a.id = g.fan JOIN celebs c ON c.platform = g.platform AND c.account = g.name
      ORDER BY a.id, c.id, g.since
      ON CONFLICT DO NOTHING RETURNING celeb_id, account_id, since
  ), noted AS (
    INSERT INTO celeb_fan_changes (celeb_id, account_id, since, change, at)
      SELECT celeb_id, account_id, since, 1, since FROM added
  )
  SELECT array_agg(celeb_id), array_agg(account_id), array_agg(to_microseconds(since)),
      array_agg(0), array_agg(1)
    INTO added_celebs, added_fans, moments, given, changes FROM added;
  IF added_celebs IS NULL THEN
    RETURN 0;
  END IF;
  celeb_ids := added_celebs;
  WITH kept AS (
    INSERT INTO hearts (celeb_id, account_id, given_at)
      SELECT f.celeb_id, f.account_id, f.since + (f.hearted_at - f.since) * (place / f.hearts::float8)
      FROM unnest(added_celebs, added_fans) AS new (celeb, fan)
      JOIN celeb_fans f ON f.celeb_id = celeb AND f.account_id = fan
      CROSS JOIN LATERAL generate_series(1, f.hearts) AS place
      RETURNING celeb_id, given_at
  ), days AS (
    SELECT celeb_id, max(given_at) AS at, count(*)::integer AS hearts FROM kept GROUP BY celeb_id, ranking_day(given_at)
  )
  SELECT celeb_ids || coalesce(array_agg(celeb_id), '{}'), moments || coalesce(array_agg(to_microseconds(at)), '{}'),
      given || coalesce(array_agg(hearts), '{}'), changes || coalesce(array_agg(0), '{}')
    INTO celeb_ids, moments, given, changes FROM days;
  PERFORM count_celebs(celeb_ids, moments, given, changes, moments);
  RETURN cardinality(added_celebs);
END $$;

-- down

DROP FUNCTION import_celebs(bigint[], text[], text[], timestamptz[], bigint[], timestamptz[]);
DROP FUNCTION write_imported_notifications(bigint[], timestamptz, bigint, timestamptz);
DROP FUNCTION imported_notices(bigint[], timestamptz);
DROP FUNCTION move_imported_messages(integer);
DROP FUNCTION move_imported_comments(integer);
DROP FUNCTION move_imported_likes(integer);
DROP FUNCTION import_post_ids(timestamptz[]);
DROP TABLE import_owners;
DROP TABLE import_notices;
DROP TABLE import_waiting;
DROP TABLE import_pictures;
DROP TABLE import_auth;
DROP TABLE imports;
