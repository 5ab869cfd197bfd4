-- Whether a celeb is somebody on its platform, and what a fan keeps beside it.
--
-- `pending`: YouTube has not been asked yet. `verified`: the channel is kept. `unknown`: YouTube knows no such channel; the
-- celeb stands in no ranking and takes up no place among a fan's. `unchecked`: its platform cannot be asked.

ALTER TABLE celebs ADD COLUMN state text NOT NULL DEFAULT 'pending'
  CONSTRAINT celebs_state CHECK (state IN ('pending', 'verified', 'unknown', 'unchecked'));
UPDATE celebs c SET state = CASE WHEN platform = 'youtube' THEN 'verified' ELSE 'unchecked' END
  WHERE platform <> 'youtube' OR EXISTS (SELECT FROM channels k WHERE k.id = c.account);
CREATE INDEX celebs_pending ON celebs (id) WHERE state = 'pending';

ALTER TABLE celeb_fans
  -- What the fan notes of it, for nobody else.
  ADD COLUMN note text,
  -- Its place in the fan's list; null, as for all that were never moved: behind those that have one, the oldest first.
  ADD COLUMN position integer;

-- A kept channel makes its celeb verified, whatever kept it. A celeb that is registered in the same moment may miss that: its
-- own lookup keeps the channel again.
--
-- Whatever writes several channels locks their celebs first, in the order of their ids, and then the channels: the triggers
-- find the locks taken.
CREATE FUNCTION verify_celebs() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE celebs c SET state = 'verified' FROM kept k
    WHERE c.platform = 'youtube' AND c.account = k.id AND c.state <> 'verified';
  RETURN NULL;
END $$;

CREATE TRIGGER verify_inserted AFTER INSERT ON channels
  REFERENCING NEW TABLE AS kept FOR EACH STATEMENT EXECUTE FUNCTION verify_celebs();
CREATE TRIGGER verify_updated AFTER UPDATE ON channels
  REFERENCING NEW TABLE AS kept FOR EACH STATEMENT EXECUTE FUNCTION verify_celebs();

-- What became too old to be kept says nothing any more.
CREATE FUNCTION doubt_celebs() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE celebs c SET state = 'pending' FROM gone g
    WHERE c.platform = 'youtube' AND c.account = g.id AND c.state = 'verified';
  RETURN NULL;
END $$;

CREATE TRIGGER doubt_deleted AFTER DELETE ON channels
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION doubt_celebs();

-- A celeb that becomes unknown leaves the rankings, and one that is known again comes back.
CREATE FUNCTION rank_celeb_again() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ranking_changes (celeb_id) VALUES (NEW.id);
  RETURN NULL;
END $$;

CREATE TRIGGER rank_again AFTER UPDATE OF state ON celebs FOR EACH ROW
  WHEN ((OLD.state = 'unknown') <> (NEW.state = 'unknown')) EXECUTE FUNCTION rank_celeb_again();

CREATE OR REPLACE FUNCTION rank_all(
  of_platform text, by_measure text, of_span text, today date, depth integer,
  OUT starts date, OUT is_whole boolean, OUT celeb_ids bigint[], OUT hearts bigint[], OUT followers bigint[],
  OUT reached timestamptz[]
) LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
  suffix CONSTANT text := CASE of_span WHEN 'all' THEN '' ELSE '_' || of_span END;
  at CONSTANT text := CASE by_measure WHEN 'hearts' THEN 'hearts_at' ELSE 'followers' || suffix || '_at' END;
  entries bigint;
BEGIN
  starts := span_start(of_span, today);
  EXECUTE format(
    $query$
    SELECT count(*), coalesce(array_agg(id), '{}'), coalesce(array_agg(hearts), '{}'), coalesce(array_agg(followers), '{}'),
      coalesce(array_agg(reached), '{}')
    FROM (
      SELECT id, hearts%1$s AS hearts, followers%1$s AS followers, %2$s AS reached FROM celebs
      WHERE platform = $1 AND counted_to >= $2 AND %3$s%1$s > 0 AND state <> 'unknown'
      ORDER BY %3$s%1$s DESC, %2$s, account LIMIT $3 + 1
    ) best
    $query$, suffix, at, by_measure)
    INTO entries, celeb_ids, hearts, followers, reached USING of_platform, starts, kept_entries(depth);
  is_whole := entries <= kept_entries(depth);
  IF NOT is_whole THEN
    celeb_ids := trim_array(celeb_ids, 1);
    hearts := trim_array(hearts, 1);
    followers := trim_array(followers, 1);
    reached := trim_array(reached, 1);
  END IF;
END $$;

CREATE OR REPLACE FUNCTION rank_changed(
  of_platform text, by_measure text, of_span text, today date, depth integer, changed celebs[],
  OUT starts date, OUT is_whole boolean, OUT celeb_ids bigint[], OUT hearts bigint[], OUT followers bigint[],
  OUT reached timestamptz[]
) LANGUAGE plpgsql STABLE SET jit = off SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
  suffix CONSTANT text := CASE of_span WHEN 'all' THEN '' ELSE '_' || of_span END;
  at CONSTANT text := CASE by_measure WHEN 'hearts' THEN 'hearts_at' ELSE 'followers' || suffix || '_at' END;
  last integer;
  last_account text;
  entries bigint;
BEGIN
  starts := span_start(of_span, today);
  SELECT l.is_whole, l.celeb_ids, l.hearts, l.followers, l.reached INTO is_whole, celeb_ids, hearts, followers, reached
    FROM ranking_lists l
    WHERE l.platform = of_platform AND l.measure = by_measure AND l.span = of_span AND l.starts = rank_changed.starts
      AND l.snapshot_id = (SELECT max(m.snapshot_id) FROM ranking_lists m
        WHERE m.platform = of_platform AND m.measure = by_measure AND m.span = of_span);
  IF NOT FOUND THEN
    -- Nothing was counted in this span before the last snapshot.
    is_whole := true;
    celeb_ids := '{}';
    hearts := '{}';
    followers := '{}';
    reached := '{}';
  END IF;
  last := cardinality(celeb_ids);
  IF cardinality(changed) > 0 THEN
    last_account := (SELECT account FROM celebs WHERE id = celeb_ids[last]);
    -- Entries that stay are in order already: their accounts are needed only where a changed celeb stands beside them.
    EXECUTE format(
      $query$
      WITH changed AS MATERIALIZED (
        SELECT id, account, hearts%1$s AS hearts, followers%1$s AS followers, %2$s AS reached,
          coalesce(counted_to >= $2, false) AND %3$s%1$s > 0 AND state <> 'unknown' AS counts
        FROM unnest($1)
      ), fresh AS MATERIALIZED (
        SELECT id, account, hearts, followers, reached FROM changed
        WHERE counts AND ($3 OR %3$s > $4 OR (%3$s = $4 AND (reached, account) <= ($5, $6)))
      ), candidate AS (
        SELECT id, hearts, followers, reached, account, 0 AS place FROM fresh
        UNION ALL
        SELECT o.id, o.hearts, o.followers, o.reached, CASE WHEN (o.%3$s, o.reached) IN (SELECT %3$s, reached FROM fresh)
          THEN (SELECT c.account FROM celebs c WHERE c.id = o.id) END, place
        FROM unnest($7, $8, $9, $10) WITH ORDINALITY AS o (id, hearts, followers, reached, place)
        WHERE o.id NOT IN (SELECT id FROM changed)
      )
      SELECT count(*), coalesce(array_agg(id), '{}'), coalesce(array_agg(hearts), '{}'),
        coalesce(array_agg(followers), '{}'), coalesce(array_agg(reached), '{}')
      FROM (SELECT * FROM candidate ORDER BY %3$s DESC, reached, account, place LIMIT $11 + 1) best
      $query$, suffix, at, by_measure)
      INTO entries, celeb_ids, hearts, followers, reached
      USING changed, starts, is_whole, CASE by_measure WHEN 'hearts' THEN hearts[last] ELSE followers[last] END,
        reached[last], last_account, celeb_ids, hearts, followers, reached, kept_entries(depth);
    IF entries > kept_entries(depth) THEN
      is_whole := false;
      celeb_ids := trim_array(celeb_ids, 1);
      hearts := trim_array(hearts, 1);
      followers := trim_array(followers, 1);
      reached := trim_array(reached, 1);
    END IF;
  END IF;
  IF NOT is_whole AND cardinality(celeb_ids) < depth THEN
    SELECT a.is_whole, a.celeb_ids, a.hearts, a.followers, a.reached INTO is_whole, celeb_ids, hearts, followers, reached
      FROM rank_all(of_platform, by_measure, of_span, today, depth) a;
  END IF;
END $$;

-- Its fans are told.

ALTER TABLE live_events ADD COLUMN celeb_id bigint, DROP CONSTRAINT live_events_one,
  ADD CONSTRAINT live_events_one
    CHECK ((post_id IS NULL) = (comment_id IS NULL) AND num_nonnulls(post_id, lookup_id, celeb_id) = 1);

CREATE FUNCTION log_celeb_state() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM celeb_fans WHERE celeb_id = NEW.id AND since IS NOT NULL) THEN
    PERFORM pg_advisory_xact_lock(live_lock());
    INSERT INTO live_events (id, celeb_id) VALUES (nextval('live_event_id_sequence'), NEW.id);
    PERFORM pg_notify('fanmill_live', 'k');
  END IF;
  RETURN NULL;
END $$;

-- Deferred, as for lookups.
CREATE CONSTRAINT TRIGGER log_state AFTER UPDATE OF state ON celebs DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.state IN ('verified', 'unknown') AND OLD.state <> NEW.state) EXECUTE FUNCTION log_celeb_state();

-- How many celebs an account may register; null if it is gone.
CREATE FUNCTION celeb_places(fan bigint, usual_limit integer) RETURNS integer
LANGUAGE sql STABLE AS $$
  SELECT coalesce(a.celeb_limit, usual_limit) FROM accounts a WHERE a.id = fan
$$;

-- How many celebs a fan has, and how many of them take up a place.
CREATE FUNCTION count_fan_celebs(fan bigint, OUT registered bigint, OUT placed bigint)
LANGUAGE sql STABLE AS $$
  SELECT count(*), count(*) FILTER (WHERE c.state <> 'unknown')
  FROM celeb_fans f JOIN celebs c ON c.id = f.celeb_id WHERE f.account_id = fan AND f.since IS NOT NULL
$$;

-- Registers a celeb where there is room: `room` celebs that take up a place, and as many unknown ones. To be called under the
-- lock of the account's row. `outcome` as in `register_celeb`.
CREATE FUNCTION place_celeb(
  fan bigint, of_platform text, of_account text, room bigint, at_position integer, moment timestamptz,
  OUT outcome text, OUT celeb bigint, OUT registered_at timestamptz
) LANGUAGE plpgsql AS $$
DECLARE
  celeb_state text;
  held record;
BEGIN
  SELECT id, state INTO celeb, celeb_state FROM celebs WHERE platform = of_platform AND account = of_account;
  SELECT since INTO registered_at FROM celeb_fans WHERE account_id = fan AND celeb_id = celeb AND since IS NOT NULL;
  IF FOUND THEN
    outcome := 'known';
    RETURN;
  END IF;
  SELECT * INTO held FROM count_fan_celebs(fan);
  IF held.registered >= 2 * room OR (held.placed >= room AND celeb_state IS DISTINCT FROM 'unknown') THEN
    outcome := 'limit';
    RETURN;
  END IF;
  IF celeb IS NULL THEN
    INSERT INTO celebs (platform, account, state) VALUES (of_platform, of_account, CASE
      WHEN of_platform <> 'youtube' THEN 'unchecked'
      WHEN EXISTS (SELECT FROM channels WHERE id = of_account) THEN 'verified'
      ELSE 'pending' END) ON CONFLICT DO NOTHING;
    SELECT id INTO celeb FROM celebs WHERE platform = of_platform AND account = of_account;
  END IF;
  outcome := 'registered';
  registered_at := coalesce(moment, clock_timestamp());
  INSERT INTO celeb_fans AS f (account_id, celeb_id, since, reached_at, position)
    VALUES (fan, celeb, registered_at, registered_at, at_position)
    ON CONFLICT (account_id, celeb_id) DO UPDATE
      SET since = excluded.since, hearts = 0, reached_at = excluded.reached_at, position = excluded.position;
  INSERT INTO celeb_fan_changes (celeb_id, account_id, since, change, at)
    VALUES (celeb, fan, registered_at, 1, registered_at);
END $$;

CREATE OR REPLACE FUNCTION register_celeb(
  fan bigint, of_platform text, of_account text, usual_limit integer, moment timestamptz,
  OUT outcome text, OUT celeb bigint, OUT registered_at timestamptz, OUT allowed integer
) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM accounts WHERE id = fan FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    outcome := 'no_account';
    RETURN;
  END IF;
  allowed := celeb_places(fan, usual_limit);
  SELECT p.outcome, p.celeb, p.registered_at INTO outcome, celeb, registered_at
    FROM place_celeb(fan, of_platform, of_account, allowed, NULL, moment) p;
END $$;

CREATE OR REPLACE FUNCTION remove_celeb(
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
    UPDATE celeb_fans SET since = NULL, hearts = 0, note = NULL, position = NULL
      WHERE account_id = fan AND celeb_id = celeb;
    INSERT INTO celeb_fan_changes (celeb_id, account_id, since, change, at)
      VALUES (celeb, fan, registered_at, -1, removed_at);
  END IF;
END $$;

-- Puts a celeb in the place of another. Nulls of the other where it was not registered; for `limit` and `known` the caller
-- undoes the transaction, since the other is removed by then.
CREATE FUNCTION replace_celeb(
  fan bigint, of_platform text, of_account text, new_platform text, new_account text, usual_limit integer,
  moment timestamptz,
  OUT outcome text, OUT celeb bigint, OUT registered_at timestamptz, OUT allowed integer,
  OUT former bigint, OUT former_since timestamptz, OUT removed_at timestamptz
) LANGUAGE plpgsql AS $$
DECLARE
  placed bigint;
  place integer;
BEGIN
  PERFORM FROM accounts WHERE id = fan FOR NO KEY UPDATE;
  allowed := celeb_places(fan, usual_limit);
  -- Hearts lock a fan's rows in this order too.
  PERFORM FROM celeb_fans f JOIN celebs c ON c.id = f.celeb_id
    WHERE f.account_id = fan
      AND (c.platform, c.account) IN ((of_platform, of_account), (new_platform, new_account))
    ORDER BY f.celeb_id FOR NO KEY UPDATE OF f;
  SELECT h.placed INTO placed FROM count_fan_celebs(fan) h;
  SELECT f.position INTO place FROM celebs c JOIN celeb_fans f ON f.celeb_id = c.id
    WHERE c.platform = of_platform AND c.account = of_account AND f.account_id = fan;
  SELECT r.celeb, r.registered_at, r.removed_at INTO former, former_since, removed_at
    FROM remove_celeb(fan, of_platform, of_account, moment) r;
  IF former IS NULL THEN
    outcome := 'not_registered';
    RETURN;
  END IF;
  -- Who has more than is allowed by now may still replace one.
  SELECT p.outcome, p.celeb, p.registered_at INTO outcome, celeb, registered_at
    FROM place_celeb(fan, new_platform, new_account, greatest(allowed, placed), place, moment) p;
END $$;

-- down

DROP FUNCTION replace_celeb(bigint, text, text, text, text, integer, timestamptz);
CREATE OR REPLACE FUNCTION remove_celeb(
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

CREATE OR REPLACE FUNCTION register_celeb(
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

DROP FUNCTION place_celeb(bigint, text, text, bigint, integer, timestamptz);
DROP FUNCTION count_fan_celebs(bigint);
DROP FUNCTION celeb_places(bigint, integer);
DROP TRIGGER log_state ON celebs;
DROP FUNCTION log_celeb_state();
DELETE FROM live_events WHERE celeb_id IS NOT NULL;
ALTER TABLE live_events DROP CONSTRAINT live_events_one, DROP COLUMN celeb_id,
  ADD CONSTRAINT live_events_one
    CHECK ((post_id IS NULL) = (comment_id IS NULL) AND (post_id IS NULL) <> (lookup_id IS NULL));
CREATE OR REPLACE FUNCTION rank_changed(
  of_platform text, by_measure text, of_span text, today date, depth integer, changed celebs[],
  OUT starts date, OUT is_whole boolean, OUT celeb_ids bigint[], OUT hearts bigint[], OUT followers bigint[],
  OUT reached timestamptz[]
) LANGUAGE plpgsql STABLE SET jit = off SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
  suffix CONSTANT text := CASE of_span WHEN 'all' THEN '' ELSE '_' || of_span END;
  at CONSTANT text := CASE by_measure WHEN 'hearts' THEN 'hearts_at' ELSE 'followers' || suffix || '_at' END;
  last integer;
  last_account text;
  entries bigint;
BEGIN
  starts := span_start(of_span, today);
  SELECT l.is_whole, l.celeb_ids, l.hearts, l.followers, l.reached INTO is_whole, celeb_ids, hearts, followers, reached
    FROM ranking_lists l
    WHERE l.platform = of_platform AND l.measure = by_measure AND l.span = of_span AND l.starts = rank_changed.starts
      AND l.snapshot_id = (SELECT max(m.snapshot_id) FROM ranking_lists m
        WHERE m.platform = of_platform AND m.measure = by_measure AND m.span = of_span);
  IF NOT FOUND THEN
    -- Nothing was counted in this span before the last snapshot.
    is_whole := true;
    celeb_ids := '{}';
    hearts := '{}';
    followers := '{}';
    reached := '{}';
  END IF;
  last := cardinality(celeb_ids);
  IF cardinality(changed) > 0 THEN
    last_account := (SELECT account FROM celebs WHERE id = celeb_ids[last]);
    -- Entries that stay are in order already: their accounts are needed only where a changed celeb stands beside them.
    EXECUTE format(
      $query$
      WITH changed AS MATERIALIZED (
        SELECT id, account, hearts%1$s AS hearts, followers%1$s AS followers, %2$s AS reached,
          coalesce(counted_to >= $2, false) AND %3$s%1$s > 0 AS counts
        FROM unnest($1)
      ), fresh AS MATERIALIZED (
        SELECT id, account, hearts, followers, reached FROM changed
        WHERE counts AND ($3 OR %3$s > $4 OR (%3$s = $4 AND (reached, account) <= ($5, $6)))
      ), candidate AS (
        SELECT id, hearts, followers, reached, account, 0 AS place FROM fresh
        UNION ALL
        SELECT o.id, o.hearts, o.followers, o.reached, CASE WHEN (o.%3$s, o.reached) IN (SELECT %3$s, reached FROM fresh)
          THEN (SELECT c.account FROM celebs c WHERE c.id = o.id) END, place
        FROM unnest($7, $8, $9, $10) WITH ORDINALITY AS o (id, hearts, followers, reached, place)
        WHERE o.id NOT IN (SELECT id FROM changed)
      )
      SELECT count(*), coalesce(array_agg(id), '{}'), coalesce(array_agg(hearts), '{}'),
        coalesce(array_agg(followers), '{}'), coalesce(array_agg(reached), '{}')
      FROM (SELECT * FROM candidate ORDER BY %3$s DESC, reached, account, place LIMIT $11 + 1) best
      $query$, suffix, at, by_measure)
      INTO entries, celeb_ids, hearts, followers, reached
      USING changed, starts, is_whole, CASE by_measure WHEN 'hearts' THEN hearts[last] ELSE followers[last] END,
        reached[last], last_account, celeb_ids, hearts, followers, reached, kept_entries(depth);
    IF entries > kept_entries(depth) THEN
      is_whole := false;
      celeb_ids := trim_array(celeb_ids, 1);
      hearts := trim_array(hearts, 1);
      followers := trim_array(followers, 1);
      reached := trim_array(reached, 1);
    END IF;
  END IF;
  IF NOT is_whole AND cardinality(celeb_ids) < depth THEN
    SELECT a.is_whole, a.celeb_ids, a.hearts, a.followers, a.reached INTO is_whole, celeb_ids, hearts, followers, reached
      FROM rank_all(of_platform, by_measure, of_span, today, depth) a;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION rank_all(
  of_platform text, by_measure text, of_span text, today date, depth integer,
  OUT starts date, OUT is_whole boolean, OUT celeb_ids bigint[], OUT hearts bigint[], OUT followers bigint[],
  OUT reached timestamptz[]
) LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
  suffix CONSTANT text := CASE of_span WHEN 'all' THEN '' ELSE '_' || of_span END;
  at CONSTANT text := CASE by_measure WHEN 'hearts' THEN 'hearts_at' ELSE 'followers' || suffix || '_at' END;
  entries bigint;
BEGIN
  starts := span_start(of_span, today);
  EXECUTE format(
    $query$
    SELECT count(*), coalesce(array_agg(id), '{}'), coalesce(array_agg(hearts), '{}'), coalesce(array_agg(followers), '{}'),
      coalesce(array_agg(reached), '{}')
    FROM (
      SELECT id, hearts%1$s AS hearts, followers%1$s AS followers, %2$s AS reached FROM celebs
      WHERE platform = $1 AND counted_to >= $2 AND %3$s%1$s > 0
      ORDER BY %3$s%1$s DESC, %2$s, account LIMIT $3 + 1
    ) best
    $query$, suffix, at, by_measure)
    INTO entries, celeb_ids, hearts, followers, reached USING of_platform, starts, kept_entries(depth);
  is_whole := entries <= kept_entries(depth);
  IF NOT is_whole THEN
    celeb_ids := trim_array(celeb_ids, 1);
    hearts := trim_array(hearts, 1);
    followers := trim_array(followers, 1);
    reached := trim_array(reached, 1);
  END IF;
END $$;

DROP TRIGGER rank_again ON celebs;
DROP FUNCTION rank_celeb_again();
DROP TRIGGER doubt_deleted ON channels;
DROP FUNCTION doubt_celebs();
DROP TRIGGER verify_updated ON channels;
DROP TRIGGER verify_inserted ON channels;
DROP FUNCTION verify_celebs();
ALTER TABLE celeb_fans DROP COLUMN position, DROP COLUMN note;
DROP INDEX celebs_pending;
ALTER TABLE celebs DROP COLUMN state;
