-- Trimming feeds without holding up who reads them.
--
-- The floor rises first: from then on pages below it come from follows and posts. Then one partition after the other is
-- detached, each in a transaction that waits for the feeds' lock for a moment only and is tried again, and dropped in
-- another one, which needs no lock on the feeds. What a crash leaves detached the next run drops.
-- `trim_feed_partitions` did all of it in one transaction; it goes when no process of an older version is left.

-- Makes partitions, and raises the floor over those that are older than `keep` days. Returns whether any is to go.
CREATE FUNCTION raise_feed_floor(keep integer) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
BEGIN
  IF keep < 1 THEN
    RAISE EXCEPTION 'feeds keep at least 1 day, not %', keep USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM ensure_feed_partitions();
  IF EXISTS (
    SELECT FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
      WHERE inhparent = 'following_user_posts'::regclass
        AND CASE WHEN relname ~ '_[0-9]{8}$' THEN to_date(right(relname, 8), 'YYYYMMDD') END < today - keep)
  THEN
    UPDATE feed_floor SET post_id = post_id_at((today - keep)::timestamp AT TIME ZONE 'UTC')
      WHERE post_id < post_id_at((today - keep)::timestamp AT TIME ZONE 'UTC');
  END IF;
  RETURN EXISTS (SELECT FROM feed_leftovers()) OR oldest_trimmed_feed_partition() IS NOT NULL;
END $$;

-- The oldest partition if it lies below the floor.
CREATE FUNCTION oldest_trimmed_feed_partition() RETURNS date
LANGUAGE sql STABLE AS $$
  SELECT day FROM (
    SELECT CASE WHEN relname ~ '_[0-9]{8}$' THEN to_date(right(relname, 8), 'YYYYMMDD') END AS day
      FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = 'following_user_posts'::regclass
  ) partitions
  WHERE post_id_at((day + 1)::timestamp AT TIME ZONE 'UTC') <= (SELECT post_id FROM feed_floor)
  ORDER BY day LIMIT 1
$$;

-- Tables that were partitions.
CREATE FUNCTION feed_leftovers() RETURNS SETOF text
LANGUAGE sql STABLE AS $$
  SELECT relname::text FROM pg_class
    WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'following_user_posts'::regclass)
      AND relkind = 'r' AND NOT relispartition AND relname ~ '^following_user_posts(_gone)?_[0-9]{8}$'
$$;

-- Detaches the oldest partition below the floor, and returns whether there was one.
--
-- The catch-all is replaced by an empty one up to where the partition ended: a writer that read the old floor, and the
-- fan-out of an old post, must find a place for their rows. Set lock_timeout: all who use the feeds wait as long as
-- this waits for them. The locks after the first are not waited for.
CREATE FUNCTION detach_feed_partition() RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  day date;
  stamp text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('fanmill.feed.partitions', 0));
  day := oldest_trimmed_feed_partition();
  IF day IS NULL THEN
    RETURN false;
  END IF;
  stamp := to_char(day, 'YYYYMMDD');
  CREATE TABLE following_user_posts_next (LIKE following_user_posts INCLUDING ALL);
  LOCK TABLE ONLY following_user_posts IN ACCESS EXCLUSIVE MODE;
  PERFORM set_config('lock_timeout', '5ms', true);
  EXECUTE format('ALTER TABLE following_user_posts DETACH PARTITION %I', 'following_user_posts_' || stamp);
  ALTER TABLE following_user_posts DETACH PARTITION following_user_posts_older;
  EXECUTE format('ALTER TABLE following_user_posts_older RENAME TO %I', 'following_user_posts_gone_' || stamp);
  ALTER TABLE following_user_posts_next RENAME TO following_user_posts_older;
  EXECUTE format(
    'ALTER TABLE following_user_posts ATTACH PARTITION following_user_posts_older FOR VALUES FROM (MINVALUE) TO (%s)',
    post_id_at((day + 1)::timestamp AT TIME ZONE 'UTC'));
  RETURN true;
END $$;

-- Drops a table that was a partition, and returns whether there was one.
CREATE FUNCTION drop_feed_leftover() RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  leftover text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('fanmill.feed.partitions', 0));
  SELECT name INTO leftover FROM feed_leftovers() name ORDER BY name LIMIT 1;
  IF leftover IS NULL THEN
    RETURN false;
  END IF;
  EXECUTE format('DROP TABLE %I', leftover);
  RETURN true;
END $$;

-- down

DROP FUNCTION drop_feed_leftover();
DROP FUNCTION detach_feed_partition();
DROP FUNCTION raise_feed_floor(integer);
DROP FUNCTION feed_leftovers();
DROP FUNCTION oldest_trimmed_feed_partition();
