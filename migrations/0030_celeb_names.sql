-- A celeb is called what its channel says, else by its account: a name or an address that one fan gives would be shown to all.

-- Registers a celeb for an account, under the lock of the account's row, so that two requests never both find room for one.
--
-- `outcome`: 'registered', 'known' (it was registered before and is left as it is), 'limit', 'no_account'. `allowed` is how many
-- celebs the account may register.
CREATE FUNCTION register_celeb(
  fan bigint, of_platform text, of_account text, usual_limit integer, moment timestamptz,
  OUT outcome text, OUT celeb bigint, OUT registered_at timestamptz, OUT allowed integer
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT coalesce(celeb_limit, usual_limit) INTO allowed FROM accounts WHERE id = fan FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    outcome := 'no_account';
    RETURN;
  END IF;
  SELECT id INTO celeb FROM celebs WHERE platform = of_platform AND account = of_account;
  SELECT since INTO registered_at FROM celeb_fans WHERE account_id = fan AND celeb_id = celeb AND since IS NOT NULL;
  IF FOUND THEN
    outcome := 'known';
  ELSIF (SELECT count(*) FROM celeb_fans WHERE account_id = fan AND since IS NOT NULL) >= allowed THEN
    outcome := 'limit';
    RETURN;
  ELSE
    IF celeb IS NULL THEN
      INSERT INTO celebs (platform, account) VALUES (of_platform, of_account) ON CONFLICT DO NOTHING;
      SELECT id INTO celeb FROM celebs WHERE platform = of_platform AND account = of_account;
    END IF;
    outcome := 'registered';
    registered_at := coalesce(moment, clock_timestamp());
    INSERT INTO celeb_fans AS f (account_id, celeb_id, since, reached_at)
      VALUES (fan, celeb, registered_at, registered_at)
      ON CONFLICT (account_id, celeb_id) DO UPDATE
        SET since = excluded.since, hearts = 0, reached_at = excluded.reached_at;
    INSERT INTO celeb_fan_changes (celeb_id, account_id, since, change, at)
      VALUES (celeb, fan, registered_at, 1, registered_at);
  END IF;
END $$;

-- For processes of an older version: what they pass for a title and an address is dropped.
CREATE OR REPLACE FUNCTION register_celeb(
  fan bigint, of_platform text, of_account text, with_title text, with_url text, usual_limit integer, moment timestamptz,
  OUT outcome text, OUT celeb bigint, OUT registered_at timestamptz, OUT allowed integer
) LANGUAGE sql
RETURN register_celeb(fan, of_platform, of_account, usual_limit, moment);

-- Both columns stay, empty, for as long as such a process may read them.
UPDATE celebs SET title = NULL, url = NULL WHERE title IS NOT NULL OR url IS NOT NULL;

-- down

DROP FUNCTION register_celeb(bigint, text, text, text, text, integer, timestamptz);
DROP FUNCTION register_celeb(bigint, text, text, integer, timestamptz);
CREATE FUNCTION register_celeb(
  fan bigint, of_platform text, of_account text, with_title text, with_url text, usual_limit integer, moment timestamptz,
  OUT outcome text, OUT celeb bigint, OUT registered_at timestamptz, OUT allowed integer
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT coalesce(celeb_limit, usual_limit) INTO allowed FROM accounts WHERE id = fan FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    outcome := 'no_account';
    RETURN;
  END IF;
  SELECT id INTO celeb FROM celebs WHERE platform = of_platform AND account = of_account;
  SELECT since INTO registered_at FROM celeb_fans WHERE account_id = fan AND celeb_id = celeb AND since IS NOT NULL;
  IF FOUND THEN
    outcome := 'known';
  ELSIF (SELECT count(*) FROM celeb_fans WHERE account_id = fan AND since IS NOT NULL) >= allowed THEN
    outcome := 'limit';
    RETURN;
  ELSE
    IF celeb IS NULL THEN
      INSERT INTO celebs (platform, account, title, url) VALUES (of_platform, of_account, with_title, with_url)
        ON CONFLICT DO NOTHING;
      SELECT id INTO celeb FROM celebs WHERE platform = of_platform AND account = of_account;
    END IF;
    outcome := 'registered';
    registered_at := coalesce(moment, clock_timestamp());
    INSERT INTO celeb_fans AS f (account_id, celeb_id, since, reached_at)
      VALUES (fan, celeb, registered_at, registered_at)
      ON CONFLICT (account_id, celeb_id) DO UPDATE
        SET since = excluded.since, hearts = 0, reached_at = excluded.reached_at;
    INSERT INTO celeb_fan_changes (celeb_id, account_id, since, change, at)
      VALUES (celeb, fan, registered_at, 1, registered_at);
  END IF;
  -- The first who gives a name gives it for all.
  UPDATE celebs SET title = coalesce(title, with_title), url = coalesce(url, with_url)
    WHERE id = celeb AND ((title IS NULL AND with_title IS NOT NULL) OR (url IS NULL AND with_url IS NOT NULL));
END $$;
