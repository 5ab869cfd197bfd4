-- What brings posts into feeds and takes them out again.
--
-- Two locks for each author keep the feeds equal to follows and posts; both are advisory and last for a transaction. A lock
-- and the statement that relies on it are two statements, so that the second one's snapshot (READ COMMITTED) is taken under
-- the lock.
--   posts_lock   exclusive: making or deleting a post; shared: a follow, or its backfill, reading the author's posts.
--                Either the follow sees the post, or the post's fan-out, which starts after the commit, sees the follow.
--   feed_lock    exclusive: an unfollow; shared: a chunk of a fan-out or of a purge, reading the author's followers.
--                Either the chunk's rows are there for the unfollow to take out, or the chunk does not see the follow.
--                Sixteen of them for an author, by stretches of follower ids: a chunk holds the few that it covers, so an
--                unfollow waits for one chunk at most and stalls none of the others (measured with a million followers: one
--                lock for all made 50 unfollows a second double the time of a fan-out).
-- And two row locks: a chunk locks its post against deletion, a page of a backfill its follow against the unfollow.

CREATE FUNCTION posts_lock(author bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (1::bigint << 61) | author;

CREATE FUNCTION feed_lock(author bigint, follower bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (1::bigint << 62) | (author << 4) | ((follower >> 16) & 15);

-- Takes the shared feed locks of all followers from `first` up to, not including, `past_last`; in one order, whoever asks.
CREATE FUNCTION share_feed_locks(author bigint, first bigint, past_last bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  key bigint;
BEGIN
  FOR key IN
    SELECT DISTINCT feed_lock(author, stretch << 16)
      FROM generate_series(first >> 16, least((past_last - 1) >> 16, (first >> 16) + 15)) AS stretch
      ORDER BY 1
  LOOP
    PERFORM pg_advisory_xact_lock_shared(key);
  END LOOP;
END $$;

-- How far each post's fan-out is. Half-filled pages, so that counting rewrites a row within its page.
CREATE TABLE fan_outs (
  post_id bigint PRIMARY KEY,
  author_id bigint NOT NULL,
  followers bigint NOT NULL,
  delivered bigint NOT NULL DEFAULT 0,
  chunks integer NOT NULL,
  chunks_done integer NOT NULL DEFAULT 0,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz
) WITH (fillfactor = 50);

CREATE INDEX fan_outs_by_author ON fan_outs (author_id, post_id DESC);
CREATE INDEX fan_outs_unfinished ON fan_outs (post_id) WHERE finished_at IS NULL;

-- Cuts an author's followers into ranges of `size` that cover every possible id, and counts each. A cursor that skips within
-- the index costs 0.1 µs a follower; numbering the rows with a window function costs five times that.
CREATE FUNCTION cut_followers(author bigint, size integer)
RETURNS TABLE (first bigint, past_last bigint, followers bigint)
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  ids CURSOR FOR SELECT follower_id FROM follows WHERE followee_id = author ORDER BY follower_id;
  next bigint;
  skipped bigint;
BEGIN
  first := 0;
  OPEN ids;
  FETCH ids INTO next;
  WHILE next IS NOT NULL LOOP
    MOVE FORWARD size - 1 IN ids;
    GET DIAGNOSTICS skipped = ROW_COUNT;
    FETCH ids INTO next;
    past_last := coalesce(next, 9223372036854775807);
    followers := skipped + 1;
    RETURN NEXT;
    first := past_last;
  END LOOP;
  CLOSE ids;
  IF first = 0 THEN
    past_last := 9223372036854775807;
    followers := 0;
    RETURN NEXT;
  END IF;
END $$;

-- Puts a post into the feeds of its author's followers from `first` up to, not including, `past_last`, and returns how many
-- they are; null when the post is gone.
--
-- A plain INSERT takes 2 µs a row and one with ON CONFLICT 3.6. A row is there beforehand only where somebody followed while
-- the fan-out ran, so each block of a thousand is tried plainly first. The blocks are subtransactions: a chunk should not
-- have more than 64 of them, which is what a server process keeps in its fast array.
CREATE FUNCTION deliver_post(post bigint, author bigint, first bigint, past_last bigint) RETURNS bigint
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  block CONSTANT integer := 1000;
  low bigint := first;
  high bigint;
  counted bigint;
  delivered bigint := 0;
BEGIN
  PERFORM share_feed_locks(author, first, past_last);
  PERFORM FROM posts WHERE id = post FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  WHILE low < past_last LOOP
    SELECT follower_id INTO high FROM follows
      WHERE followee_id = author AND follower_id >= low AND follower_id < past_last
      ORDER BY follower_id OFFSET block LIMIT 1;
    high := coalesce(high, past_last);
    BEGIN
      INSERT INTO following_user_posts (user_id, post_id)
        SELECT follower_id, post FROM follows
          WHERE followee_id = author AND follower_id >= low AND follower_id < high
          ORDER BY follower_id;
      GET DIAGNOSTICS counted = ROW_COUNT;
    EXCEPTION WHEN unique_violation THEN
      WITH due AS MATERIALIZED (
        SELECT follower_id FROM follows WHERE followee_id = author AND follower_id >= low AND follower_id < high
      ), added AS (
        INSERT INTO following_user_posts (user_id, post_id)
          SELECT follower_id, post FROM due ORDER BY follower_id ON CONFLICT DO NOTHING
      )
      SELECT count(*) INTO counted FROM due;
    END;
    delivered := delivered + counted;
    low := high;
  END LOOP;
  RETURN delivered;
END $$;

-- Takes a deleted post out of the feeds of its author's followers from `first` up to, not including, `past_last`, and returns
-- how many rows went. Who unfollowed since took the row out himself: an unfollow looks at deleted posts as well.
CREATE FUNCTION purge_post(post bigint, author bigint, first bigint, past_last bigint) RETURNS bigint
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  purged bigint;
BEGIN
  PERFORM share_feed_locks(author, first, past_last);
  DELETE FROM following_user_posts USING follows
    WHERE followee_id = author AND follower_id >= first AND follower_id < past_last
      AND user_id = follower_id AND post_id = post;
  GET DIAGNOSTICS purged = ROW_COUNT;
  RETURN purged;
END $$;

-- down

DROP FUNCTION purge_post(bigint, bigint, bigint, bigint);
DROP FUNCTION deliver_post(bigint, bigint, bigint, bigint);
DROP FUNCTION cut_followers(bigint, integer);
DROP TABLE fan_outs;
DROP FUNCTION share_feed_locks(bigint, bigint, bigint);
DROP FUNCTION feed_lock(bigint, bigint);
DROP FUNCTION posts_lock(bigint);
