-- Who likes which post, and what people say to it. Both keys lead with the post.

-- No foreign keys: each like would lock its post's row, and a thousand likes of one post would rewrite that row a thousand
-- times. Instead whoever likes or comments holds this advisory lock, shared, until the commit, and a statement of its own
-- under it looks whether the post is there; deleting the post takes the lock alone. So nothing is added to a post that is
-- gone, and what it had goes with the job `notifications.sweep-post`.
CREATE FUNCTION post_lock(post bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (1::bigint << 60) | post;

CREATE TABLE likes (
  post_id bigint NOT NULL,
  account_id bigint NOT NULL,
  -- Grows with time: the order in which an account liked.
  id bigint GENERATED ALWAYS AS IDENTITY,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (post_id, account_id)
);

CREATE UNIQUE INDEX likes_by_account ON likes (account_id, id DESC);

CREATE TABLE comments (
  post_id bigint NOT NULL,
  -- Grows with time.
  id bigint GENERATED ALWAYS AS IDENTITY,
  account_id bigint NOT NULL,
  text text NOT NULL CHECK (length(text) BETWEEN 1 AND 2000),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (post_id, id)
);

-- down

DROP TABLE comments;
DROP TABLE likes;
DROP FUNCTION post_lock(bigint);
