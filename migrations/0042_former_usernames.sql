-- Names that accounts were called by: each stays its owner's for 30 days and leads to the account meanwhile.

CREATE TABLE former_usernames (
  username text NOT NULL,
  account_id bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
  kept_until timestamptz NOT NULL
);

CREATE UNIQUE INDEX former_usernames_key ON former_usernames (lower(username) COLLATE "C");
CREATE INDEX former_usernames_account ON former_usernames (account_id);
CREATE INDEX former_usernames_end ON former_usernames (kept_until);

-- A name is taken by the unique index of accounts, for which racing writers wait for each other. Whoever waited for an
-- account to be called otherwise looks here afterwards, and sees that the name is kept.
CREATE FUNCTION refuse_former_usernames() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  refused text;
BEGIN
  SELECT f.username INTO refused FROM added a
    JOIN former_usernames f ON lower(f.username) COLLATE "C" = lower(a.username) COLLATE "C"
    WHERE f.kept_until > clock_timestamp() LIMIT 1;
  IF FOUND THEN
    RAISE unique_violation USING CONSTRAINT = 'former_usernames_key',
      MESSAGE = format('the name %s is kept for the account that had it', refused);
  END IF;
  RETURN NULL;
END;
$$;

CREATE TRIGGER accounts_refuse_former_usernames AFTER INSERT ON accounts
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION refuse_former_usernames();

CREATE FUNCTION keep_former_username() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT FROM former_usernames WHERE lower(username) COLLATE "C" = lower(NEW.username) COLLATE "C"
      AND account_id <> NEW.id AND kept_until > clock_timestamp())
  THEN
    RAISE unique_violation USING CONSTRAINT = 'former_usernames_key',
      MESSAGE = format('the name %s is kept for the account that had it', NEW.username);
  END IF;
  INSERT INTO former_usernames (username, account_id, kept_until)
    VALUES (OLD.username, OLD.id, clock_timestamp() + interval '30 days')
    ON CONFLICT (lower(username) COLLATE "C")
    DO UPDATE SET username = excluded.username, account_id = excluded.account_id, kept_until = excluded.kept_until;
  RETURN NULL;
END;
$$;

CREATE TRIGGER accounts_keep_former_username AFTER UPDATE OF username ON accounts FOR EACH ROW
  WHEN (lower(OLD.username) COLLATE "C" <> lower(NEW.username) COLLATE "C") EXECUTE FUNCTION keep_former_username();

-- down

DROP TRIGGER accounts_keep_former_username ON accounts;
DROP FUNCTION keep_former_username();
DROP TRIGGER accounts_refuse_former_usernames ON accounts;
DROP FUNCTION refuse_former_usernames();
DROP TABLE former_usernames;
