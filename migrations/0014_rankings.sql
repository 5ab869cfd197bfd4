-- What counts hearts and fans, and makes the rankings of it.
--
-- A ranking (platform, measure, span) lists the celebs with a count above 0 by that count, then by who got to it first, then by
-- account, down to a depth. Two locks, both advisory and for a transaction:
--   counts_lock    shared: adding to counts; exclusive: counting anew from the hearts themselves.
--   rankings_lock  exclusive: making a snapshot. Counting goes on meanwhile: a snapshot is one statement, so it sees all of
--                  what a counting transaction did, or nothing.

CREATE FUNCTION counts_lock() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (3::bigint << 60) | 1;

CREATE FUNCTION rankings_lock() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (3::bigint << 60) | 2;

-- The time zone in which days are counted. Changed together with the counts, under the counts lock.
CREATE TABLE ranking_zone (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  name text NOT NULL
);
INSERT INTO ranking_zone (name) VALUES ('Asia/Seoul');

-- Celebs whose counts have changed since the last snapshot; a celeb may stand here many times.
CREATE TABLE ranking_changes (
  celeb_id bigint NOT NULL
);

CREATE TABLE ranking_snapshots (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  computed_at timestamptz NOT NULL,
  -- Made of all celebs, not of what had changed.
  is_full boolean NOT NULL,
  -- How many celebs a list shows; a little more is kept.
  depth integer NOT NULL,
  -- How many celebs had changed.
  changes bigint NOT NULL
);

-- The lists of each snapshot, in order. A list that is as it was in the snapshot before has no row of its own.
CREATE TABLE ranking_lists (
  platform text NOT NULL,
  measure text NOT NULL CHECK (measure IN ('hearts', 'followers')),
  span text NOT NULL CHECK (span IN ('day', 'week', 'month', 'all')),
  snapshot_id bigint NOT NULL,
  -- The first day of the span; -infinity for all time.
  starts date NOT NULL,
  -- Whether every celeb with a count is in it.
  is_whole boolean NOT NULL,
  celeb_ids bigint[] NOT NULL,
  hearts bigint[] NOT NULL,
  followers bigint[] NOT NULL,
  reached timestamptz[] NOT NULL,
  PRIMARY KEY (platform, measure, span, snapshot_id)
);

-- Weeks begin on Monday.
CREATE FUNCTION span_start(span text, today date) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE span WHEN 'day' THEN today WHEN 'week' THEN date_trunc('week', today::timestamp)::date
  WHEN 'month' THEN date_trunc('month', today::timestamp)::date ELSE '-infinity'::date END;

-- The day of a moment, in the rankings' time zone.
CREATE FUNCTION ranking_day(moment timestamptz) RETURNS date LANGUAGE sql STABLE
RETURN (moment AT TIME ZONE (SELECT name FROM ranking_zone))::date;

-- A time as jobs carry it, exactly.
CREATE FUNCTION from_microseconds(since_1970 bigint) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
RETURN 'epoch'::timestamptz + since_1970 * interval '1 microsecond';

CREATE FUNCTION to_microseconds(moment timestamptz) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN (extract(epoch FROM moment) * 1000000)::bigint;

-- Adds events to the counts of their celebs: hearts given (`given` 1), registrations and removals (`change` 1, -1). `moments` say
-- which day an event counts for, `happened` when it happened, both in microseconds since 1970.
CREATE FUNCTION count_celebs(
  celebs bigint[], moments bigint[], given integer[], changes integer[], happened bigint[]
) RETURNS void LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  zone text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(counts_lock());
  zone := (SELECT name FROM ranking_zone);
  -- In one order, so that two batches never wait for one another.
  PERFORM FROM celebs c WHERE c.id = ANY (celebs) ORDER BY c.id FOR NO KEY UPDATE;
  WITH event AS MATERIALIZED (
    SELECT celeb_id, (from_microseconds(moment) AT TIME ZONE zone)::date AS day, hearts, change,
      from_microseconds(at) AS at
    FROM unnest(celebs, moments, given, changes, happened) AS e (celeb_id, moment, hearts, change, at)
  ), target AS MATERIALIZED (
    -- An event of an earlier day than the celeb's latest counts for the week and the month that are still the same.
    SELECT c.id, greatest(c.counted_to, max(e.day)) AS day FROM event e JOIN celebs c ON c.id = e.celeb_id GROUP BY c.id
  ), start AS MATERIALIZED (
    SELECT id, day, span_start('week', day) AS week, span_start('month', day) AS month FROM target
  ), added AS (
    SELECT s.id, s.day, s.week, s.month,
      sum(hearts) AS hearts,
      sum(hearts) FILTER (WHERE e.day = s.day) AS hearts_day,
      sum(hearts) FILTER (WHERE e.day >= s.week) AS hearts_week,
      sum(hearts) FILTER (WHERE e.day >= s.month) AS hearts_month,
      max(at) FILTER (WHERE hearts > 0) AS hearts_at,
      sum(change) AS followers,
      sum(change) FILTER (WHERE e.day = s.day) AS followers_day,
      sum(change) FILTER (WHERE e.day >= s.week) AS followers_week,
      sum(change) FILTER (WHERE e.day >= s.month) AS followers_month,
      max(at) FILTER (WHERE change <> 0) AS followers_at,
      max(at) FILTER (WHERE change <> 0 AND e.day = s.day) AS followers_day_at,
      max(at) FILTER (WHERE change <> 0 AND e.day >= s.week) AS followers_week_at,
      max(at) FILTER (WHERE change <> 0 AND e.day >= s.month) AS followers_month_at
    FROM event e JOIN start s ON s.id = e.celeb_id GROUP BY s.id, s.day, s.week, s.month
  )
  UPDATE celebs c SET
    counted_to = a.day,
    hearts = c.hearts + a.hearts,
    hearts_day = coalesce(a.hearts_day, 0) + CASE WHEN c.counted_to >= a.day THEN c.hearts_day ELSE 0 END,
    hearts_week = coalesce(a.hearts_week, 0) + CASE WHEN c.counted_to >= a.week THEN c.hearts_week ELSE 0 END,
    hearts_month = coalesce(a.hearts_month, 0) + CASE WHEN c.counted_to >= a.month THEN c.hearts_month ELSE 0 END,
    hearts_at = greatest(c.hearts_at, a.hearts_at),
    followers = c.followers + a.followers,
    followers_day = coalesce(a.followers_day, 0) + CASE WHEN c.counted_to >= a.day THEN c.followers_day ELSE 0 END,
    followers_week = coalesce(a.followers_week, 0) + CASE WHEN c.counted_to >= a.week THEN c.followers_week ELSE 0 END,
    followers_month = coalesce(a.followers_month, 0)
      + CASE WHEN c.counted_to >= a.month THEN c.followers_month ELSE 0 END,
    followers_at = greatest(c.followers_at, a.followers_at),
    followers_day_at = greatest(a.followers_day_at, CASE WHEN c.counted_to >= a.day THEN c.followers_day_at END),
    followers_week_at = greatest(a.followers_week_at, CASE WHEN c.counted_to >= a.week THEN c.followers_week_at END),
    followers_month_at = greatest(a.followers_month_at, CASE WHEN c.counted_to >= a.month THEN c.followers_month_at END)
  FROM added a WHERE c.id = a.id;
  INSERT INTO ranking_changes (celeb_id) SELECT DISTINCT unnest(celebs);
END $$;

-- What the counts of celebs should be on a day, by the hearts and registrations themselves, less those that wait to be counted.
-- Celebs without any are left out.
CREATE FUNCTION expected_counts(today date) RETURNS TABLE (
  id bigint, hearts bigint, hearts_day bigint, hearts_week bigint, hearts_month bigint, hearts_at timestamptz,
  followers bigint, followers_day bigint, followers_week bigint, followers_month bigint, followers_at timestamptz,
  followers_day_at timestamptz, followers_week_at timestamptz, followers_month_at timestamptz
) LANGUAGE sql STABLE AS $$
  WITH start AS MATERIALIZED (
    SELECT span_start('day', today)::timestamp AT TIME ZONE name AS day,
      span_start('week', today)::timestamp AT TIME ZONE name AS week,
      span_start('month', today)::timestamp AT TIME ZONE name AS month
    FROM ranking_zone
  ), waiting AS MATERIALIZED (
    SELECT kind, (payload->>'celeb')::bigint AS celeb_id, (payload->>'fan')::bigint AS account_id,
      (payload->>'change')::integer AS change,
      from_microseconds((payload->>'at')::bigint) AS at
    FROM (
      SELECT kind, payload::jsonb FROM jobs WHERE kind IN ('hearts.count', 'celebs.count')
      UNION ALL SELECT kind, payload::jsonb FROM dead_jobs WHERE kind IN ('hearts.count', 'celebs.count')
    ) j
  ), heart AS (
    SELECT celeb_id, count(*) AS hearts,
      count(*) FILTER (WHERE given_at >= (SELECT day FROM start)) AS hearts_day,
      count(*) FILTER (WHERE given_at >= (SELECT week FROM start)) AS hearts_week,
      count(*) FILTER (WHERE given_at >= (SELECT month FROM start)) AS hearts_month,
      max(given_at) AS hearts_at
    FROM hearts h
    WHERE NOT EXISTS (
      SELECT FROM waiting w WHERE w.kind = 'hearts.count' AND w.celeb_id = h.celeb_id AND w.account_id = h.account_id
        AND w.at = h.given_at)
    GROUP BY celeb_id
  ), fan AS (
    SELECT celeb_id, sum(change) AS followers,
      sum(change) FILTER (WHERE since >= (SELECT day FROM start)) AS followers_day,
      sum(change) FILTER (WHERE since >= (SELECT week FROM start)) AS followers_week,
      sum(change) FILTER (WHERE since >= (SELECT month FROM start)) AS followers_month,
      max(at) AS followers_at,
      max(at) FILTER (WHERE since >= (SELECT day FROM start)) AS followers_day_at,
      max(at) FILTER (WHERE since >= (SELECT week FROM start)) AS followers_week_at,
      max(at) FILTER (WHERE since >= (SELECT month FROM start)) AS followers_month_at
    FROM celeb_fan_changes f
    WHERE NOT EXISTS (
      SELECT FROM waiting w WHERE w.kind = 'celebs.count' AND w.celeb_id = f.celeb_id AND w.account_id = f.account_id
        AND w.change = f.change AND w.at = f.at)
    GROUP BY celeb_id
  )
  SELECT celeb_id, coalesce(h.hearts, 0), coalesce(hearts_day, 0), coalesce(hearts_week, 0), coalesce(hearts_month, 0),
    hearts_at, coalesce(f.followers, 0), coalesce(followers_day, 0), coalesce(followers_week, 0),
    coalesce(followers_month, 0), followers_at, followers_day_at, followers_week_at, followers_month_at
  FROM heart h FULL JOIN fan f USING (celeb_id)
$$;

-- The counts of celebs as they stand for a day: 0 where the span that they were counted for is over.
CREATE FUNCTION current_counts(today date) RETURNS TABLE (
  id bigint, hearts bigint, hearts_day bigint, hearts_week bigint, hearts_month bigint, hearts_at timestamptz,
  followers bigint, followers_day bigint, followers_week bigint, followers_month bigint, followers_at timestamptz,
  followers_day_at timestamptz, followers_week_at timestamptz, followers_month_at timestamptz
) LANGUAGE sql STABLE AS $$
  SELECT id, hearts, CASE WHEN is_day THEN hearts_day ELSE 0 END, CASE WHEN is_week THEN hearts_week ELSE 0 END,
    CASE WHEN is_month THEN hearts_month ELSE 0 END, hearts_at,
    followers, CASE WHEN is_day THEN followers_day ELSE 0 END, CASE WHEN is_week THEN followers_week ELSE 0 END,
    CASE WHEN is_month THEN followers_month ELSE 0 END, followers_at, CASE WHEN is_day THEN followers_day_at END,
    CASE WHEN is_week THEN followers_week_at END, CASE WHEN is_month THEN followers_month_at END
  FROM celebs CROSS JOIN LATERAL (
    SELECT counted_to >= today AS is_day, counted_to >= span_start('week', today) AS is_week,
      counted_to >= span_start('month', today) AS is_month
  ) x
$$;

-- What the counts should be of celebs whose counts are others.
CREATE FUNCTION wrong_counts(today date) RETURNS TABLE (
  id bigint, hearts bigint, hearts_day bigint, hearts_week bigint, hearts_month bigint, hearts_at timestamptz,
  followers bigint, followers_day bigint, followers_week bigint, followers_month bigint, followers_at timestamptz,
  followers_day_at timestamptz, followers_week_at timestamptz, followers_month_at timestamptz
) LANGUAGE sql STABLE AS $$
  SELECT f.id, coalesce(e.hearts, 0), coalesce(e.hearts_day, 0), coalesce(e.hearts_week, 0), coalesce(e.hearts_month, 0),
    e.hearts_at, coalesce(e.followers, 0), coalesce(e.followers_day, 0), coalesce(e.followers_week, 0),
    coalesce(e.followers_month, 0), e.followers_at, e.followers_day_at, e.followers_week_at, e.followers_month_at
  FROM current_counts(today) f LEFT JOIN expected_counts(today) e ON e.id = f.id
  WHERE (f.hearts, f.hearts_day, f.hearts_week, f.hearts_month, f.hearts_at, f.followers, f.followers_day,
      f.followers_week, f.followers_month, f.followers_at, f.followers_day_at, f.followers_week_at, f.followers_month_at)
    IS DISTINCT FROM (coalesce(e.hearts, 0), coalesce(e.hearts_day, 0), coalesce(e.hearts_week, 0),
      coalesce(e.hearts_month, 0), e.hearts_at, coalesce(e.followers, 0), coalesce(e.followers_day, 0),
      coalesce(e.followers_week, 0), coalesce(e.followers_month, 0), e.followers_at, e.followers_day_at,
      e.followers_week_at, e.followers_month_at)
$$;

-- How many entries of a list are kept that shows `depth`: a little more, so that few lists have to be made anew.
CREATE FUNCTION kept_entries(depth integer) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN depth + depth / 10 + 10;

-- One list as it is now, made of all celebs.
CREATE FUNCTION rank_all(
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

-- One list as it is now, made of the last one and of the celebs whose counts have changed since.
--
-- What is not in the last list stood behind its last entry and, unchanged, still does: so whoever is no worse than that entry
-- was is among the entries and the changed ones, and as long as `depth` of them are, nobody else belongs in. Where fewer are
-- left, the list is made of all celebs.
CREATE FUNCTION rank_changed(
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

CREATE VIEW ranking_keys AS
  SELECT platform, measure, span
  FROM unnest(ARRAY['youtube', 'instagram']) platform, unnest(ARRAY['hearts', 'followers']) measure,
    unnest(ARRAY['day', 'week', 'month', 'all']) span;

-- Makes a snapshot, in one statement: what had changed is taken off and the lists are made of the same state.
--
-- The time is read within the statement, so that nothing which it sees happened later: what comes in a new day is counted, and
-- stands among the changes, after the last snapshot of the day before.
CREATE FUNCTION make_ranking_snapshot(
  depth integer, moment timestamptz, anew boolean,
  OUT snapshot bigint, OUT computed_at timestamptz, OUT changes bigint, OUT lists bigint
) LANGUAGE plpgsql SET jit = off AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(rankings_lock());
  WITH clock AS MATERIALIZED (
    SELECT coalesce(moment, clock_timestamp()) AS at
  ), taken AS (
    DELETE FROM ranking_changes RETURNING celeb_id
  ), changed AS MATERIALIZED (
    SELECT c.platform, array_agg(c) AS celebs
    FROM (SELECT DISTINCT celeb_id FROM taken) t JOIN celebs c ON c.id = t.celeb_id GROUP BY c.platform
  ), made AS (
    INSERT INTO ranking_snapshots (computed_at, is_full, depth, changes)
    SELECT at, anew, make_ranking_snapshot.depth, coalesce((SELECT sum(cardinality(celebs)) FROM changed), 0) FROM clock
    RETURNING *
  ), written AS (
    INSERT INTO ranking_lists (platform, measure, span, snapshot_id, starts, is_whole, celeb_ids, hearts, followers, reached)
    SELECT k.platform, k.measure, k.span, made.id, n.*
    FROM made CROSS JOIN ranking_keys k LEFT JOIN changed ON changed.platform = k.platform
      CROSS JOIN LATERAL (
        SELECT * FROM rank_all(k.platform, k.measure, k.span, ranking_day(made.computed_at), made.depth) WHERE anew
        UNION ALL
        SELECT * FROM rank_changed(
          k.platform, k.measure, k.span, ranking_day(made.computed_at), made.depth, coalesce(changed.celebs, '{}'))
        WHERE NOT anew
      ) n
      LEFT JOIN LATERAL (
        SELECT l.starts, l.is_whole, l.celeb_ids, l.hearts, l.followers, l.reached FROM ranking_lists l
        WHERE l.platform = k.platform AND l.measure = k.measure AND l.span = k.span ORDER BY l.snapshot_id DESC LIMIT 1
      ) o ON true
    WHERE (n.starts, n.is_whole, n.celeb_ids, n.hearts, n.followers, n.reached)
        IS DISTINCT FROM (o.starts, o.is_whole, o.celeb_ids, o.hearts, o.followers, o.reached)
      AND (o.starts IS NOT NULL OR n.celeb_ids <> '{}')
    RETURNING 1
  )
  SELECT made.id, made.computed_at, made.changes, (SELECT count(*) FROM written)
    INTO snapshot, computed_at, changes, lists FROM made;
END $$;

-- Counts everything anew, from the hearts and registrations themselves, in `zone` (null: as before), and makes a snapshot.
CREATE FUNCTION recount_rankings(
  depth integer, zone text, moment timestamptz,
  OUT snapshot bigint, OUT computed_at timestamptz, OUT changes bigint, OUT lists bigint, OUT corrected bigint
) LANGUAGE plpgsql SET jit = off SET work_mem = '256MB' AS $$
DECLARE
  today date;
BEGIN
  PERFORM pg_advisory_xact_lock(rankings_lock());
  PERFORM pg_advisory_xact_lock(counts_lock());
  UPDATE ranking_zone SET name = zone WHERE name <> zone;
  today := ranking_day(coalesce(moment, clock_timestamp()));
  UPDATE celebs c SET
    counted_to = today, hearts = e.hearts, hearts_day = e.hearts_day, hearts_week = e.hearts_week,
    hearts_month = e.hearts_month, hearts_at = e.hearts_at, followers = e.followers, followers_day = e.followers_day,
    followers_week = e.followers_week, followers_month = e.followers_month, followers_at = e.followers_at,
    followers_day_at = e.followers_day_at, followers_week_at = e.followers_week_at,
    followers_month_at = e.followers_month_at
  FROM wrong_counts(today) e WHERE c.id = e.id;
  GET DIAGNOSTICS corrected = ROW_COUNT;
  SELECT s.snapshot, s.computed_at, s.changes, s.lists INTO snapshot, computed_at, changes, lists
    FROM make_ranking_snapshot(depth, moment, true) s;
END $$;

-- Forgets snapshots made before `moment`, but never the last two.
CREATE FUNCTION prune_rankings(moment timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  oldest bigint;
  pruned bigint;
BEGIN
  SELECT min(id) INTO oldest FROM (
    SELECT id FROM ranking_snapshots WHERE computed_at >= moment
    UNION ALL (SELECT id FROM ranking_snapshots ORDER BY id DESC LIMIT 2)
  ) kept;
  DELETE FROM ranking_snapshots WHERE id < oldest;
  GET DIAGNOSTICS pruned = ROW_COUNT;
  -- A list of an older snapshot stays as long as it is that of a kept one.
  IF pruned > 0 THEN
    DELETE FROM ranking_lists l WHERE l.snapshot_id < oldest AND EXISTS (
      SELECT FROM ranking_lists n WHERE n.platform = l.platform AND n.measure = l.measure AND n.span = l.span
        AND n.snapshot_id > l.snapshot_id AND n.snapshot_id <= oldest);
  END IF;
  RETURN pruned;
END $$;

-- Counts that are others than the hearts and registrations say; `examples` of each kind, and how many there are.
CREATE FUNCTION audit_counts(moment timestamptz, examples integer) RETURNS TABLE (
  problem text, platform text, what text, place text, expected text, found text, total bigint
) LANGUAGE sql STABLE AS $$
  WITH clock AS MATERIALIZED (
    SELECT ranking_day(coalesce(moment, clock_timestamp())) AS today
  ), wrong AS MATERIALIZED (
    SELECT w.*, count(*) OVER () AS total FROM clock, wrong_counts(today) w LIMIT greatest(examples, 1)
  ), fan AS MATERIALIZED (
    SELECT celeb_id, coalesce(c.fans, 0) AS expected, coalesce(f.fans, 0) AS found, count(*) OVER () AS total
    FROM (SELECT celeb_id, count(*) AS fans FROM celeb_fans WHERE since IS NOT NULL GROUP BY celeb_id) f
      FULL JOIN (SELECT celeb_id, sum(change) AS fans FROM celeb_fan_changes GROUP BY celeb_id) c USING (celeb_id)
    WHERE coalesce(c.fans, 0) <> coalesce(f.fans, 0) LIMIT greatest(examples, 1)
  ), given AS MATERIALIZED (
    SELECT f.account_id, f.celeb_id, count(h.celeb_id) AS expected, f.hearts AS found, count(*) OVER () AS total
    FROM celeb_fans f LEFT JOIN hearts h
      ON h.celeb_id = f.celeb_id AND h.account_id = f.account_id AND h.given_at >= f.since
    WHERE f.since IS NOT NULL
    GROUP BY f.account_id, f.celeb_id, f.hearts HAVING count(h.celeb_id) <> f.hearts LIMIT greatest(examples, 1)
  )
  SELECT 'count', c.platform, v.what, c.account, coalesce(v.expected, 'none'), coalesce(v.found, 'none'), w.total
  FROM wrong w JOIN celebs c ON c.id = w.id
    JOIN LATERAL (SELECT f.* FROM current_counts((SELECT today FROM clock)) f WHERE f.id = w.id) f ON true
    CROSS JOIN LATERAL (VALUES
      ('hearts all', w.hearts::text, f.hearts::text), ('hearts day', w.hearts_day::text, f.hearts_day::text),
      ('hearts week', w.hearts_week::text, f.hearts_week::text),
      ('hearts month', w.hearts_month::text, f.hearts_month::text),
      ('hearts reached', w.hearts_at::text, f.hearts_at::text),
      ('followers all', w.followers::text, f.followers::text),
      ('followers day', w.followers_day::text, f.followers_day::text),
      ('followers week', w.followers_week::text, f.followers_week::text),
      ('followers month', w.followers_month::text, f.followers_month::text),
      ('followers all reached', w.followers_at::text, f.followers_at::text),
      ('followers day reached', w.followers_day_at::text, f.followers_day_at::text),
      ('followers week reached', w.followers_week_at::text, f.followers_week_at::text),
      ('followers month reached', w.followers_month_at::text, f.followers_month_at::text)
    ) v (what, expected, found)
  WHERE v.expected IS DISTINCT FROM v.found
  UNION ALL
  SELECT 'fans', c.platform, 'fans registered', c.account, fan.expected::text, fan.found::text, fan.total
  FROM fan JOIN celebs c ON c.id = fan.celeb_id
  UNION ALL
  SELECT 'given', c.platform, 'hearts of the fan ' || coalesce(a.username, given.account_id::text), c.account,
    given.expected::text, given.found::text, given.total
  FROM given JOIN celebs c ON c.id = given.celeb_id LEFT JOIN accounts a ON a.id = given.account_id
$$;

-- Entries of the rankings, as they go on from the last snapshot, that are others than those made of all celebs.
CREATE FUNCTION audit_rankings(moment timestamptz, examples integer) RETURNS TABLE (
  problem text, platform text, what text, place text, expected text, found text, total bigint
) LANGUAGE sql STABLE AS $$
  WITH clock AS MATERIALIZED (
    SELECT ranking_day(coalesce(moment, clock_timestamp())) AS today,
      coalesce((SELECT depth FROM ranking_snapshots ORDER BY id DESC LIMIT 1), 10000) AS depth
  ), changed AS MATERIALIZED (
    SELECT c.platform, array_agg(c) AS celebs
    FROM (SELECT DISTINCT celeb_id FROM ranking_changes) t JOIN celebs c ON c.id = t.celeb_id GROUP BY c.platform
  ), wrong AS MATERIALIZED (
    SELECT k.platform, k.measure, k.span, x.*, count(*) OVER () AS total
    FROM clock CROSS JOIN ranking_keys k LEFT JOIN changed ON changed.platform = k.platform
      CROSS JOIN LATERAL rank_all(k.platform, k.measure, k.span, today, depth) a
      CROSS JOIN LATERAL rank_changed(
        k.platform, k.measure, k.span, today, depth, coalesce(changed.celebs, '{}')) n
      CROSS JOIN LATERAL (
        SELECT place, e.id AS expected_id, e.hearts AS expected_hearts, e.followers AS expected_followers,
          e.reached AS expected_at, f.id AS found_id, f.hearts AS found_hearts, f.followers AS found_followers,
          f.reached AS found_at
        FROM unnest(a.celeb_ids, a.hearts, a.followers, a.reached) WITH ORDINALITY
            AS e (id, hearts, followers, reached, place)
          FULL JOIN unnest(n.celeb_ids, n.hearts, n.followers, n.reached) WITH ORDINALITY
            AS f (id, hearts, followers, reached, place) USING (place)
        WHERE place <= depth AND (e.id, e.hearts, e.followers, e.reached)
          IS DISTINCT FROM (f.id, f.hearts, f.followers, f.reached)
      ) x
    ORDER BY k.platform, k.measure, k.span, place LIMIT greatest(examples, 1)
  )
  SELECT 'rank', w.platform, w.measure || ' ' || w.span, w.place::text,
    CASE WHEN e.id IS NULL THEN 'none'
      ELSE format('%s: %s hearts, %s followers, %s', e.account, expected_hearts, expected_followers, expected_at) END,
    CASE WHEN found_id IS NULL THEN 'none' ELSE format('%s: %s hearts, %s followers, %s',
      coalesce(f.account, 'celeb ' || found_id), found_hearts, found_followers, found_at) END,
    w.total
  FROM wrong w LEFT JOIN celebs e ON e.id = expected_id LEFT JOIN celebs f ON f.id = found_id
$$;

-- down

DROP FUNCTION audit_rankings(timestamptz, integer);
DROP FUNCTION audit_counts(timestamptz, integer);
DROP FUNCTION prune_rankings(timestamptz);
DROP FUNCTION recount_rankings(integer, text, timestamptz);
DROP FUNCTION make_ranking_snapshot(integer, timestamptz, boolean);
DROP VIEW ranking_keys;
DROP FUNCTION rank_changed(text, text, text, date, integer, celebs[]);
DROP FUNCTION rank_all(text, text, text, date, integer);
DROP FUNCTION kept_entries(integer);
DROP FUNCTION wrong_counts(date);
DROP FUNCTION current_counts(date);
DROP FUNCTION expected_counts(date);
DROP FUNCTION count_celebs(bigint[], bigint[], integer[], integer[], bigint[]);
DROP FUNCTION to_microseconds(timestamptz);
DROP FUNCTION from_microseconds(bigint);
DROP FUNCTION ranking_day(timestamptz);
DROP FUNCTION span_start(text, date);
DROP TABLE ranking_lists;
DROP TABLE ranking_snapshots;
DROP TABLE ranking_changes;
DROP TABLE ranking_zone;
DROP FUNCTION rankings_lock();
DROP FUNCTION counts_lock();
