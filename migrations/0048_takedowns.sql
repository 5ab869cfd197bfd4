-- What operators take down: nobody sees it any more, until they restore it.
--
-- It stays where it is. Lists pass it over, and feeds keep its rows, so that it comes back exactly as it was.

ALTER TABLE posts ADD COLUMN taken_down_at timestamptz;
ALTER TABLE comments ADD COLUMN taken_down_at timestamptz;
ALTER TABLE media ADD COLUMN taken_down_at timestamptz;

CREATE INDEX posts_taken_down ON posts (id) WHERE taken_down_at IS NOT NULL;
CREATE INDEX comments_taken_down ON comments (post_id, id) WHERE taken_down_at IS NOT NULL;

-- A post counts the comments that are shown.

CREATE OR REPLACE FUNCTION count_removed_comments() RETURNS trigger
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  less record;
BEGIN
  FOR less IN
    SELECT post_id, post_count_shard(account_id) AS shard, count(*) AS comments FROM removed
      WHERE taken_down_at IS NULL GROUP BY 1, 2 ORDER BY 1, 2
  LOOP
    UPDATE post_counts SET comments = comments - less.comments WHERE post_id = less.post_id AND shard = less.shard;
  END LOOP;
  RETURN NULL;
END $$;

CREATE FUNCTION count_taken_down_comment() RETURNS trigger
LANGUAGE plpgsql SET jit = off AS $$
BEGIN
  UPDATE post_counts SET comments = comments + CASE WHEN NEW.taken_down_at IS NULL THEN 1 ELSE -1 END
    WHERE post_id = NEW.post_id AND shard = post_count_shard(NEW.account_id);
  RETURN NULL;
END $$;

CREATE TRIGGER count_taken_down AFTER UPDATE OF taken_down_at ON comments FOR EACH ROW
  WHEN ((OLD.taken_down_at IS NULL) <> (NEW.taken_down_at IS NULL)) EXECUTE FUNCTION count_taken_down_comment();

CREATE OR REPLACE VIEW counted_posts AS
  SELECT post_id, shard, sum(likes)::bigint AS likes, sum(comments)::bigint AS comments FROM (
    SELECT post_id, post_count_shard(account_id) AS shard, count(*) AS likes, 0 AS comments FROM likes GROUP BY 1, 2
    UNION ALL
    SELECT post_id, post_count_shard(account_id), 0, count(*) FILTER (WHERE taken_down_at IS NULL) FROM comments
      GROUP BY 1, 2
  ) counted GROUP BY post_id, shard;

-- How many of an owner's notifications are neither checked nor of what the owner is not shown.
CREATE FUNCTION unread_notifications(owner bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
  counts notification_counts;
BEGIN
  SELECT * INTO counts FROM notification_counts c WHERE c.owner_id = owner;
  IF counts.unread IS NULL OR counts.unread = 0 THEN
    RETURN 0;
  END IF;
  RETURN counts.unread - (
    SELECT count(*) FROM notifications n
      WHERE n.owner_id = owner AND n.id > counts.checked_until AND NOT n.checked AND (
        EXISTS (SELECT FROM hidden_accounts h WHERE h.account_id = n.actor_id)
        OR EXISTS (SELECT FROM restrictions r WHERE r.account_id = owner AND r.other_id = n.actor_id)
        OR EXISTS (SELECT FROM posts p WHERE p.id = n.post_id AND p.taken_down_at IS NOT NULL)
        OR n.type = 1 AND EXISTS (
          SELECT FROM comments c WHERE c.post_id = n.post_id AND c.id = n.comment_id AND c.taken_down_at IS NOT NULL)));
END $$;

-- down

DROP FUNCTION unread_notifications(bigint);
DROP TRIGGER count_taken_down ON comments;
DROP FUNCTION count_taken_down_comment();
CREATE OR REPLACE VIEW counted_posts AS
  SELECT post_id, shard, sum(likes)::bigint AS likes, sum(comments)::bigint AS comments FROM (
    SELECT post_id, post_count_shard(account_id) AS shard, count(*) AS likes, 0 AS comments FROM likes GROUP BY 1, 2
    UNION ALL
    SELECT post_id, post_count_shard(account_id), 0, count(*) FROM comments GROUP BY 1, 2
  ) counted GROUP BY post_id, shard;
CREATE OR REPLACE FUNCTION count_removed_comments() RETURNS trigger
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
DROP INDEX comments_taken_down;
DROP INDEX posts_taken_down;
ALTER TABLE media DROP COLUMN taken_down_at;
ALTER TABLE comments DROP COLUMN taken_down_at;
ALTER TABLE posts DROP COLUMN taken_down_at;
SELECT recount_posts();
