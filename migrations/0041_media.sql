-- Pictures: their files, who owns them, and what shows them.
--
-- Bytes are kept once, by what they are: media_files has a row for each, and media a row for each owner's picture of it. The
-- objects of a file lie in the store under its id, which is new whenever the same bytes come again after they had gone: what
-- still removes the old ones touches nothing of the new.
--
-- Triggers keep how many pictures share a file, how many bytes an account owns and how often a picture is shown, so that
-- these change with the rows they count, whatever statement writes those. What locks more than one row does so in the order
-- of keys.

CREATE TABLE media_files (
  -- 32 hexadecimal digits.
  id text COLLATE "C" PRIMARY KEY,
  -- SHA-256 of the bytes as they were uploaded.
  hash bytea NOT NULL UNIQUE,
  content_type text NOT NULL,
  bytes bigint NOT NULL,
  -- In pixels, as the picture is shown.
  width int NOT NULL,
  height int NOT NULL,
  -- Whether the sizes are there.
  ready boolean NOT NULL DEFAULT false,
  -- Of the original and its sizes together, once these are there.
  stored_bytes bigint,
  owners int NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT media_files_id CHECK (id ~ '^[0-9a-f]{32}$'),
  CONSTRAINT media_files_hash CHECK (length(hash) = 32),
  CONSTRAINT media_files_right CHECK (owners >= 0 AND bytes > 0 AND width > 0 AND height > 0)
);

-- Files whose objects are to be removed from the store: written with the removal of the last picture, gone with the objects.
CREATE TABLE media_removals (
  file_id text COLLATE "C" PRIMARY KEY,
  removed_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE media (
  -- 22 characters of Base64 for URLs, 128 random bits: who knows it may see the picture.
  id text COLLATE "C" PRIMARY KEY,
  -- null for a picture that came with an upload token, until an account is opened with it.
  owner_id bigint REFERENCES accounts ON DELETE CASCADE,
  -- null for a picture that could not be made.
  file_id text COLLATE "C" REFERENCES media_files,
  -- Why it could not be made, for the client.
  failure text,
  -- In how many posts and profiles it is shown.
  uses int NOT NULL DEFAULT 0,
  -- Since when it has been shown nowhere; null while it is.
  unused_since timestamptz DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT media_id CHECK (id ~ '^[A-Za-z0-9_-]{22}$'),
  CONSTRAINT media_right CHECK (uses >= 0 AND (uses > 0) = (unused_since IS NULL) AND (file_id IS NULL) = (failure IS NOT NULL))
);

CREATE INDEX media_by_owner ON media (owner_id, created_at DESC);
CREATE INDEX media_by_file ON media (file_id);
CREATE INDEX media_unused ON media (unused_since) WHERE unused_since IS NOT NULL;

-- How much each account owns. Half-filled pages, so that counting rewrites a row within its page.
CREATE TABLE media_quotas (
  account_id bigint PRIMARY KEY,
  bytes bigint NOT NULL DEFAULT 0,
  files bigint NOT NULL DEFAULT 0,
  CONSTRAINT media_quotas_right CHECK (bytes >= 0 AND files >= 0)
) WITH (fillfactor = 50);

-- What lets somebody without an account upload one picture.
CREATE TABLE upload_tokens (
  -- SHA-256 of the token.
  hash bytea PRIMARY KEY,
  expires_at timestamptz NOT NULL
);

CREATE INDEX upload_tokens_expired ON upload_tokens (expires_at);

CREATE FUNCTION count_media_owner(account bigint, file text, change int) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  size bigint;
BEGIN
  -- The file first, then the owner.
  UPDATE media_files SET owners = owners + change WHERE id = file RETURNING bytes INTO size;
  IF change > 0 AND account IS NOT NULL THEN
    INSERT INTO media_quotas AS kept (account_id, bytes, files) VALUES (account, size, 1)
      ON CONFLICT (account_id) DO UPDATE SET bytes = kept.bytes + size, files = kept.files + 1;
  ELSE
    UPDATE media_quotas SET bytes = bytes - size, files = files - 1 WHERE account_id = account;
  END IF;
END $$;

CREATE FUNCTION count_media() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF (OLD.owner_id, OLD.file_id) IS NOT DISTINCT FROM (NEW.owner_id, NEW.file_id) THEN
      RETURN NULL;
    END IF;
  END IF;
  -- What comes is counted before what goes: a picture that changes its owner never leaves its file without one.
  IF TG_OP <> 'DELETE' AND NEW.file_id IS NOT NULL THEN
    PERFORM count_media_owner(NEW.owner_id, NEW.file_id, 1);
  END IF;
  IF TG_OP <> 'INSERT' AND OLD.file_id IS NOT NULL THEN
    PERFORM count_media_owner(OLD.owner_id, OLD.file_id, -1);
    WITH gone AS (DELETE FROM media_files WHERE id = OLD.file_id AND owners = 0 RETURNING id)
    INSERT INTO media_removals (file_id) SELECT id FROM gone;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER count_media AFTER INSERT OR DELETE OR UPDATE OF owner_id, file_id ON media
  FOR EACH ROW EXECUTE FUNCTION count_media();

-- Takes `gone` from and adds `come` to how often pictures are shown. What comes has to be there.
CREATE FUNCTION count_media_uses(gone text[], come text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  changed record;
BEGIN
  FOR changed IN
    SELECT id, sum(change)::int AS change FROM (
      SELECT unnest(gone) COLLATE "C" AS id, -1 AS change UNION ALL SELECT unnest(come) COLLATE "C", 1
    ) changes WHERE id IS NOT NULL GROUP BY id HAVING sum(change) <> 0 ORDER BY id
  LOOP
    UPDATE media SET uses = uses + changed.change,
      unused_since = CASE WHEN uses + changed.change = 0 THEN now() END
    WHERE id = changed.id;
    IF NOT FOUND AND changed.change > 0 THEN
      RAISE foreign_key_violation USING MESSAGE = 'there is no picture ' || changed.id, CONSTRAINT = 'media_shown';
    END IF;
  END LOOP;
END $$;

-- The addresses that posts had before pictures were kept here stay as they are; new ones are not taken.
ALTER TABLE posts
  ADD COLUMN media text[] COLLATE "C" NOT NULL DEFAULT '{}',
  -- Width and height of each, so that a list shows them without reading the pictures.
  ADD COLUMN media_dimensions int[] NOT NULL DEFAULT '{}',
  ADD CONSTRAINT posts_media CHECK (cardinality(media) <= 10 AND cardinality(media_dimensions) = 2 * cardinality(media));
ALTER TABLE accounts ADD COLUMN avatar_media text COLLATE "C";

CREATE FUNCTION count_post_media() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM count_media_uses(
    CASE WHEN TG_OP <> 'INSERT' THEN OLD.media END, CASE WHEN TG_OP <> 'DELETE' THEN NEW.media END);
  RETURN NULL;
END $$;

CREATE TRIGGER count_added_media AFTER INSERT ON posts
  FOR EACH ROW WHEN (NEW.media <> '{}') EXECUTE FUNCTION count_post_media();
CREATE TRIGGER count_changed_media AFTER UPDATE OF media ON posts
  FOR EACH ROW WHEN (OLD.media <> NEW.media) EXECUTE FUNCTION count_post_media();
CREATE TRIGGER count_removed_media AFTER DELETE ON posts
  FOR EACH ROW WHEN (OLD.media <> '{}') EXECUTE FUNCTION count_post_media();

CREATE FUNCTION count_avatar() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM count_media_uses(
    CASE WHEN TG_OP <> 'INSERT' THEN ARRAY[OLD.avatar_media] END,
    CASE WHEN TG_OP <> 'DELETE' THEN ARRAY[NEW.avatar_media] END);
  RETURN NULL;
END $$;

CREATE TRIGGER count_added_avatar AFTER INSERT ON accounts
  FOR EACH ROW WHEN (NEW.avatar_media IS NOT NULL) EXECUTE FUNCTION count_avatar();
CREATE TRIGGER count_changed_avatar AFTER UPDATE OF avatar_media ON accounts
  FOR EACH ROW WHEN (OLD.avatar_media IS DISTINCT FROM NEW.avatar_media) EXECUTE FUNCTION count_avatar();
CREATE TRIGGER count_removed_avatar AFTER DELETE ON accounts
  FOR EACH ROW WHEN (OLD.avatar_media IS NOT NULL) EXECUTE FUNCTION count_avatar();

-- down

DROP TRIGGER count_removed_avatar ON accounts;
DROP TRIGGER count_changed_avatar ON accounts;
DROP TRIGGER count_added_avatar ON accounts;
DROP FUNCTION count_avatar();
DROP TRIGGER count_removed_media ON posts;
DROP TRIGGER count_changed_media ON posts;
DROP TRIGGER count_added_media ON posts;
DROP FUNCTION count_post_media();
ALTER TABLE accounts DROP COLUMN avatar_media;
ALTER TABLE posts DROP CONSTRAINT posts_media, DROP COLUMN media_dimensions, DROP COLUMN media;
DROP FUNCTION count_media_uses(text[], text[]);
DROP TABLE upload_tokens;
DROP TABLE media_quotas;
DROP TRIGGER count_media ON media;
DROP TABLE media;
DROP FUNCTION count_media();
DROP FUNCTION count_media_owner(bigint, text, int);
DROP TABLE media_removals;
DROP TABLE media_files;
