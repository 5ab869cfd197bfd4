-- Who follows whom. The key leads with the followee: a fan-out reads one followee's followers in key order.

-- No foreign keys: each would lock the followee's account row for every follow, and a million follows of one account would
-- queue on that row. Both ids are read from accounts in the statement that writes them here.
CREATE TABLE follows (
  follower_id bigint NOT NULL,
  followee_id bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (followee_id, follower_id),
  CONSTRAINT follows_not_oneself CHECK (follower_id <> followee_id)
);

CREATE UNIQUE INDEX follows_by_follower ON follows (follower_id, followee_id);

-- down

DROP TABLE follows;
