-- Feeds of the very large: posts that are pulled, and readers who sleep.
--
-- Whether a post is pushed into its author's followers' feeds or pulled when these are read is decided in the transaction
-- that makes it, and stays. Feeds hold no row of a pulled post: who follows its author is asked when a feed is read, so
-- follows, unfollows and deletions have nothing to do for it.

ALTER TABLE posts ADD COLUMN is_pulled boolean NOT NULL DEFAULT false;

CREATE INDEX posts_pulled ON posts (author_id, id DESC) WHERE is_pulled;

-- Who has posts that are pulled, and the latest of them: few, so every reader of a feed can go through them.
CREATE TABLE pulled_authors (
  author_id bigint PRIMARY KEY,
  last_post bigint NOT NULL
);

-- When accounts last read their feeds, to a day; of who has none since, their creation counts.
CREATE TABLE feed_readers (
  account_id bigint PRIMARY KEY,
  read_on date NOT NULL
);

-- Since when that is written down; no row: it is not.
CREATE TABLE feed_sleep (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  noted_since date NOT NULL
);

-- Whose feeds are kept no longer. They are read from follows and posts, until they are made again: `is_waking` while that
-- goes on. What a fan-out skips was committed before its statement began, and who is made to wake is skipped by no
-- statement that begins after that: so what is added once the waking is committed is all there is.
CREATE TABLE feed_sleepers (
  account_id bigint PRIMARY KEY,
  is_waking boolean NOT NULL DEFAULT false,
  asleep_since timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- As in 0006, but that who sleeps is skipped, and a post that is pulled is brought to nobody.
CREATE OR REPLACE FUNCTION deliver_post(post bigint, author bigint, first bigint, past_last bigint) RETURNS bigint
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  block CONSTANT integer := 1000;
  low bigint := first;
  high bigint;
  counted bigint;
  delivered bigint := 0;
BEGIN
  PERFORM share_feed_locks(author, first, past_last);
  PERFORM FROM posts WHERE id = post AND NOT is_pulled FOR KEY SHARE;
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
            AND follower_id NOT IN (
              SELECT account_id FROM feed_sleepers WHERE account_id >= low AND account_id < high AND NOT is_waking)
          ORDER BY follower_id;
      GET DIAGNOSTICS counted = ROW_COUNT;
    EXCEPTION WHEN unique_violation THEN
      WITH due AS MATERIALIZED (
        SELECT follower_id FROM follows WHERE followee_id = author AND follower_id >= low AND follower_id < high
          AND follower_id NOT IN (
            SELECT account_id FROM feed_sleepers WHERE account_id >= low AND account_id < high AND NOT is_waking)
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

-- down

DO $$ BEGIN
  IF EXISTS (SELECT FROM posts WHERE is_pulled) OR EXISTS (SELECT FROM feed_sleepers) THEN
    RAISE EXCEPTION 'there are posts that are pulled, or readers who sleep: feeds would lack what they do not hold';
  END IF;
END $$;

CREATE OR REPLACE FUNCTION deliver_post(post bigint, author bigint, first bigint, past_last bigint) RETURNS bigint
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

DROP TABLE feed_sleepers;
DROP TABLE feed_sleep;
DROP TABLE feed_readers;
DROP TABLE pulled_authors;
DROP INDEX posts_pulled;
ALTER TABLE posts DROP COLUMN is_pulled;
