-- The feeds: a row for each follower of each post's author. Range-partitioned by post id, so by time: the pages that a
-- fan-out touches are few and hot, a page of the feed is read from the newest partitions alone, and old rows go by dropping
-- a partition.

CREATE TABLE following_user_posts (
  user_id bigint NOT NULL,
  post_id bigint NOT NULL,
  PRIMARY KEY (user_id, post_id)
) PARTITION BY RANGE (post_id);

-- The smallest post id that feeds still hold; older pages come from follows and posts. 0: feeds hold everything.
CREATE TABLE feed_floor (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  post_id bigint NOT NULL
);
INSERT INTO feed_floor (post_id) VALUES (0);

-- Makes the daily partitions from the newest there is up to `ahead` days from now (from yesterday on, if there is none), and
-- returns how many. Building a table and attaching it lets reads and writes go on, which CREATE TABLE … PARTITION OF does not.
CREATE FUNCTION ensure_feed_partitions(ahead integer DEFAULT 7) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  day date;
  name text;
  made integer := 0;
BEGIN
  -- One at a time: two that found the same day missing would both try to make it.
  PERFORM pg_advisory_xact_lock(hashtextextended('fanmill.feed.partitions', 0));
  SELECT max(to_date(right(relname, 8), 'YYYYMMDD')) + 1 INTO day
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'following_user_posts'::regclass AND relname ~ '_[0-9]{8}$';
  IF day IS NULL THEN
    day := today - 1;
    EXECUTE format('CREATE TABLE following_user_posts_older PARTITION OF following_user_posts FOR VALUES FROM (MINVALUE) TO (%s)',
      post_id_at(day::timestamp AT TIME ZONE 'UTC'));
  END IF;
  WHILE day <= today + ahead LOOP
    name := 'following_user_posts_' || to_char(day, 'YYYYMMDD');
    EXECUTE format('CREATE TABLE %I (LIKE following_user_posts INCLUDING ALL)', name);
    EXECUTE format('ALTER TABLE following_user_posts ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', name,
      post_id_at(day::timestamp AT TIME ZONE 'UTC'), post_id_at((day + 1)::timestamp AT TIME ZONE 'UTC'));
    made := made + 1;
    day := day + 1;
  END LOOP;
  RETURN made;
END $$;

-- Drops the daily partitions older than `keep` days and what is older than they, raises the floor, and returns how many went.
-- It needs the whole table for a moment: set lock_timeout, and try again later when it is refused.
CREATE FUNCTION trim_feed_partitions(keep integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  first_kept bigint := post_id_at((today - keep)::timestamp AT TIME ZONE 'UTC');
  old record;
  dropped integer := 0;
BEGIN
  IF keep < 1 THEN
    RAISE EXCEPTION 'feeds keep at least 1 day, not %', keep USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM ensure_feed_partitions();
  FOR old IN
    SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
      WHERE inhparent = 'following_user_posts'::regclass AND relname ~ '_[0-9]{8}$'
        AND to_date(right(relname, 8), 'YYYYMMDD') < today - keep
  LOOP
    EXECUTE format('DROP TABLE %I', old.relname);
    dropped := dropped + 1;
  END LOOP;
  IF dropped > 0 THEN
    -- The catch-all stays, empty, up to the new floor: a writer that read the old floor must find a place for its rows.
    DROP TABLE following_user_posts_older;
    EXECUTE format('CREATE TABLE following_user_posts_older PARTITION OF following_user_posts FOR VALUES FROM (MINVALUE) TO (%s)',
      first_kept);
    UPDATE feed_floor SET post_id = first_kept;
  END IF;
  RETURN dropped;
END $$;

SELECT ensure_feed_partitions();

-- down

DROP FUNCTION trim_feed_partitions(integer);
DROP FUNCTION ensure_feed_partitions(integer);
DROP TABLE feed_floor;
DROP TABLE following_user_posts;
