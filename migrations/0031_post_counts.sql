-- How many likes and comments each post has, kept in rows: to list a post is to read a few rows, not every like of it.
--
-- Triggers keep the counts, so they change with the rows that they count, in the same transaction, whatever statement
-- writes these. A post has up to eight rows, by the account that likes or comments: requests for one post rarely wait
-- for the same row. Half-filled pages, so that counting rewrites a row within its page.
CREATE TABLE post_counts (
  post_id bigint NOT NULL,
  shard smallint NOT NULL,
  likes bigint NOT NULL DEFAULT 0,
  comments bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (post_id, shard),
  CONSTRAINT post_counts_right CHECK (likes >= 0 AND comments >= 0)
) WITH (fillfactor = 50);

CREATE FUNCTION post_count_shard(account bigint) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (account & 7)::smallint;

-- Each locks its rows in the order of their keys, so that no two statements wait for each other.

CREATE FUNCTION count_added_likes() RETURNS trigger
LANGUAGE plpgsql SET jit = off AS $$
BEGIN
  INSERT INTO post_counts AS counts (post_id, shard, likes)
    SELECT post_id, post_count_shard(account_id), count(*) FROM added GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (post_id, shard) DO UPDATE SET likes = counts.likes + excluded.likes;
  RETURN NULL;
END $$;

CREATE FUNCTION count_removed_likes() RETURNS trigger
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  less record;
BEGIN
  FOR less IN
    SELECT post_id, post_count_shard(account_id) AS shard, count(*) AS likes FROM removed GROUP BY 1, 2 ORDER BY 1, 2
  LOOP
    UPDATE post_counts SET likes = likes - less.likes WHERE post_id = less.post_id AND shard = less.shard;
  END LOOP;
  RETURN NULL;
END $$;

CREATE FUNCTION count_added_comments() RETURNS trigger
LANGUAGE plpgsql SET jit = off AS $$
BEGIN
  INSERT INTO post_counts AS counts (post_id, shard, comments)
    SELECT post_id, post_count_shard(account_id), count(*) FROM added GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (post_id, shard) DO UPDATE SET comments = counts.comments + excluded.comments;
  RETURN NULL;
END $$;

CREATE FUNCTION count_removed_comments() RETURNS trigger
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  less record;
BEGIN
  FOR less IN
    SELECT post_id, post_count_shard(account_id) AS shard, count(*) AS comments FROM removed GROUP BY 1, 2 ORDER BY 1, 2
  LOOP
    UPDATE post_counts SET comments = comments - less.comments WHERE post_id = less.post_id AND shard = less.shard;
  END LOOP;
  RETURN NULL;
END $$;

-- From here on nobody likes or comments until the upgrade commits.
CREATE TRIGGER count_added AFTER INSERT ON likes
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_added_likes();
CREATE TRIGGER count_removed AFTER DELETE ON likes
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_removed_likes();
CREATE TRIGGER count_added AFTER INSERT ON comments
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_added_comments();
CREATE TRIGGER count_removed AFTER DELETE ON comments
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_removed_comments();

-- What the counts should be. Both sides of an audit and of the upgrade.
CREATE VIEW counted_posts AS
  SELECT post_id, shard, sum(likes)::bigint AS likes, sum(comments)::bigint AS comments FROM (
    SELECT post_id, post_count_shard(account_id) AS shard, count(*) AS likes, 0 AS comments FROM likes GROUP BY 1, 2
    UNION ALL
    SELECT post_id, post_count_shard(account_id), 0, count(*) FROM comments GROUP BY 1, 2
  ) counted GROUP BY post_id, shard;

INSERT INTO post_counts (post_id, shard, likes, comments) SELECT * FROM counted_posts;

-- Counts all posts again, and returns how many rows were wrong. Likes and comments wait meanwhile.
CREATE FUNCTION recount_posts() RETURNS bigint
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  wrong bigint;
BEGIN
  LOCK TABLE likes, comments IN SHARE ROW EXCLUSIVE MODE;
  DELETE FROM post_counts kept WHERE NOT EXISTS (
    SELECT FROM counted_posts counted WHERE counted.post_id = kept.post_id AND counted.shard = kept.shard)
    AND (kept.likes, kept.comments) <> (0, 0);
  GET DIAGNOSTICS wrong = ROW_COUNT;
  WITH corrected AS (
    INSERT INTO post_counts AS kept (post_id, shard, likes, comments) SELECT * FROM counted_posts
      ON CONFLICT (post_id, shard) DO UPDATE SET likes = excluded.likes, comments = excluded.comments
        WHERE (kept.likes, kept.comments) <> (excluded.likes, excluded.comments)
      RETURNING 1
  )
  SELECT wrong + count(*) INTO wrong FROM corrected;
  RETURN wrong;
END $$;

-- Takes away up to `budget` notifications, likes and comments each of a post that is gone; returns whether there may be
-- more. With the last of them its counts go.
CREATE OR REPLACE FUNCTION sweep_post(post bigint, author bigint, budget bigint) RETURNS boolean
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
  most := greatest(most, swept);
  IF most < budget THEN
    DELETE FROM post_counts WHERE post_id = post;
  END IF;
  RETURN most >= budget;
END $$;

-- down

CREATE OR REPLACE FUNCTION sweep_post(post bigint, author bigint, budget bigint) RETURNS boolean
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

DROP TRIGGER count_removed ON comments;
DROP TRIGGER count_added ON comments;
DROP TRIGGER count_removed ON likes;
DROP TRIGGER count_added ON likes;
DROP FUNCTION recount_posts();
DROP VIEW counted_posts;
DROP FUNCTION count_removed_comments();
DROP FUNCTION count_added_comments();
DROP FUNCTION count_removed_likes();
DROP FUNCTION count_added_likes();
DROP TABLE post_counts;
DROP FUNCTION post_count_shard(bigint);
