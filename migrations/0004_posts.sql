-- Posts. An id is the milliseconds since 2024-01-01 shifted by 12 bits, and 12 bits of a sequence: it grows with time, stays
-- below 2^53 (so that JSON carries it) until 2093, and tells the feed's partitions apart.

CREATE SEQUENCE post_id_sequence MINVALUE 0 MAXVALUE 4095 START 0 CYCLE CACHE 1;

-- The smallest id that a post made at this time can have.
CREATE FUNCTION post_id_at(moment timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN floor((extract(epoch FROM moment) - 1704067200) * 1000)::bigint << 12;

CREATE FUNCTION next_post_id() RETURNS bigint
LANGUAGE sql VOLATILE
RETURN post_id_at(clock_timestamp()) | nextval('post_id_sequence');

CREATE TABLE posts (
  id bigint PRIMARY KEY DEFAULT next_post_id(),
  author_id bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
  title text NOT NULL,
  description text NOT NULL DEFAULT '',
  image text,
  created_at timestamptz NOT NULL DEFAULT now(),
  edited_at timestamptz
);

CREATE INDEX posts_by_author ON posts (author_id, id DESC);

-- Posts that are gone, as long as feeds may still hold rows of them.
CREATE TABLE deleted_posts (
  id bigint PRIMARY KEY,
  author_id bigint NOT NULL,
  deleted_at timestamptz NOT NULL DEFAULT now(),
  -- Purge chunks still to be done; null until they are cut.
  chunks_left integer
);

CREATE INDEX deleted_posts_by_author ON deleted_posts (author_id);

-- down

DROP TABLE deleted_posts;
DROP TABLE posts;
DROP FUNCTION next_post_id();
DROP FUNCTION post_id_at(timestamptz);
DROP SEQUENCE post_id_sequence;
