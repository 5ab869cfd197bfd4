-- Celebs, who is a fan of whom, and the hearts that fans give.

-- How many celebs this account may register; null: as many as the setting says.
ALTER TABLE accounts ADD COLUMN celeb_limit integer CONSTRAINT accounts_celeb_limit CHECK (celeb_limit >= 0);

-- A celeb with its counts. No request writes the counts: jobs add them up, many hearts in one statement, so that nobody waits
-- for the row of a celeb that everybody loves.
--
-- A count of a day, a week or a month is that of the one that `counted_to` lies in, and 0 once that is over. Half-filled pages,
-- so that counting rewrites a row within its page.
CREATE TABLE celebs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  platform text NOT NULL CONSTRAINT celebs_platform CHECK (platform IN ('youtube', 'instagram')),
  account text COLLATE "C" NOT NULL,
  title text,
  url text,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- The last day, in the rankings' time zone, of which something is counted.
  counted_to date,
  hearts bigint NOT NULL DEFAULT 0,
  hearts_day bigint NOT NULL DEFAULT 0,
  hearts_week bigint NOT NULL DEFAULT 0,
  hearts_month bigint NOT NULL DEFAULT 0,
  -- When the last heart came: that is when the celeb got to each of these counts.
  hearts_at timestamptz,
  followers bigint NOT NULL DEFAULT 0,
  followers_day bigint NOT NULL DEFAULT 0,
  followers_week bigint NOT NULL DEFAULT 0,
  followers_month bigint NOT NULL DEFAULT 0,
  -- When each count last changed, upwards or downwards.
  followers_at timestamptz,
  followers_day_at timestamptz,
  followers_week_at timestamptz,
  followers_month_at timestamptz
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX celebs_account_key ON celebs (platform, account);

-- Who has registered which celeb. A row stays when the celeb is removed, with a null `since`, and with it the time of the last
-- heart: registering again does not make the next heart possible earlier.
--
-- No foreign keys: each would lock the celeb's row for every registration.
CREATE TABLE celeb_fans (
  account_id bigint NOT NULL,
  celeb_id bigint NOT NULL,
  since timestamptz,
  -- Hearts given since then.
  hearts bigint NOT NULL DEFAULT 0,
  -- When this count was reached.
  reached_at timestamptz NOT NULL,
  -- When the last heart was given, before or after `since`.
  hearted_at timestamptz,
  PRIMARY KEY (account_id, celeb_id)
) WITH (fillfactor = 80);

CREATE INDEX celeb_fans_by_hearts ON celeb_fans (celeb_id, hearts DESC, reached_at, account_id) WHERE since IS NOT NULL;

-- Every heart that was ever given. Only appended to, and read whole; without an index a heart costs the least.
CREATE TABLE hearts (
  celeb_id bigint NOT NULL,
  account_id bigint NOT NULL,
  given_at timestamptz NOT NULL
);

-- Every registration (change 1) and removal (change -1). A removal takes away from the day of its registration.
CREATE TABLE celeb_fan_changes (
  celeb_id bigint NOT NULL,
  account_id bigint NOT NULL,
  since timestamptz NOT NULL,
  change integer NOT NULL,
  at timestamptz NOT NULL
);

-- Registers a celeb for an account, under the lock of the account's row, so that two requests never both find room for one.
--
-- `outcome`: 'registered', 'known' (it was registered before and is left as it is), 'limit', 'no_account'. `allowed` is how many
-- celebs the account may register.
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

-- Removes a celeb from an account's; nulls if it was not registered.
CREATE FUNCTION remove_celeb(
  fan bigint, of_platform text, of_account text, moment timestamptz,
  OUT celeb bigint, OUT registered_at timestamptz, OUT removed_at timestamptz
) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM accounts WHERE id = fan FOR NO KEY UPDATE;
  SELECT f.celeb_id, f.since INTO celeb, registered_at FROM celebs c JOIN celeb_fans f ON f.celeb_id = c.id
    WHERE c.platform = of_platform AND c.account = of_account AND f.account_id = fan AND f.since IS NOT NULL
    FOR NO KEY UPDATE OF f;
  IF FOUND THEN
    removed_at := coalesce(moment, clock_timestamp());
    UPDATE celeb_fans SET since = NULL, hearts = 0 WHERE account_id = fan AND celeb_id = celeb;
    INSERT INTO celeb_fan_changes (celeb_id, account_id, since, change, at)
      VALUES (celeb, fan, registered_at, -1, removed_at);
  END IF;
END $$;

-- down

DROP FUNCTION remove_celeb(bigint, text, text, timestamptz);
DROP FUNCTION register_celeb(bigint, text, text, text, text, integer, timestamptz);
DROP TABLE celeb_fan_changes;
DROP TABLE hearts;
DROP TABLE celeb_fans;
DROP TABLE celebs;
ALTER TABLE accounts DROP COLUMN celeb_limit;
