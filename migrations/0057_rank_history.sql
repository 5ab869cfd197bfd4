-- Where celebs stood at the end of each day, and which were ever among the first ten.

-- One row for each celeb that a list had in the day's last snapshot.
CREATE TABLE celeb_rank_days (
  celeb_id bigint NOT NULL,
  measure text NOT NULL,
  span text NOT NULL,
  day date NOT NULL,
  rank integer NOT NULL,
  -- The hearts or followers that the list is made by.
  count bigint NOT NULL,
  PRIMARY KEY (celeb_id, measure, span, day)
);

CREATE INDEX celeb_rank_days_by_day ON celeb_rank_days (day);

CREATE TABLE celeb_top_tens (
  celeb_id bigint NOT NULL,
  measure text NOT NULL,
  span text NOT NULL,
  PRIMARY KEY (celeb_id, measure, span)
);

-- The lists as of a snapshot.
CREATE FUNCTION snapshot_lists(snapshot bigint) RETURNS SETOF ranking_lists
LANGUAGE sql STABLE AS $$
  SELECT l.* FROM ranking_keys k CROSS JOIN LATERAL (
    SELECT * FROM ranking_lists l
    WHERE l.platform = k.platform AND l.measure = k.measure AND l.span = k.span AND l.snapshot_id <= snapshot
    ORDER BY l.snapshot_id DESC LIMIT 1
  ) l
$$;

-- Keeps where celebs stood in the snapshot before `snapshot`, if that was its day's last; returns how many rows that took.
CREATE FUNCTION keep_rank_day(snapshot bigint) RETURNS bigint
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  former ranking_snapshots;
  kept bigint := 0;
BEGIN
  SELECT * INTO former FROM ranking_snapshots WHERE id < snapshot ORDER BY id DESC LIMIT 1;
  IF FOUND AND ranking_day(former.computed_at)
      < (SELECT ranking_day(computed_at) FROM ranking_snapshots WHERE id = snapshot) THEN
    INSERT INTO celeb_rank_days (celeb_id, measure, span, day, rank, count)
      SELECT e.celeb_id, l.measure, l.span, ranking_day(former.computed_at), e.rank,
        CASE l.measure WHEN 'hearts' THEN e.hearts ELSE e.followers END
      FROM snapshot_lists(former.id) l CROSS JOIN LATERAL unnest(l.celeb_ids, l.hearts, l.followers) WITH ORDINALITY
        AS e (celeb_id, hearts, followers, rank)
      WHERE e.rank <= former.depth
      ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS kept = ROW_COUNT;
  END IF;
  RETURN kept;
END $$;

CREATE FUNCTION prune_rank_days(before date) RETURNS void
LANGUAGE sql AS $$
  DELETE FROM celeb_rank_days WHERE day < before
$$;

-- Fans are told the first time that their celeb is among the first ten of a list. Those that stand there now were told of by
-- nobody, and are not news.
INSERT INTO celeb_top_tens (celeb_id, measure, span)
  SELECT DISTINCT celeb, measure, span
  FROM snapshot_lists((SELECT max(id) FROM ranking_snapshots)) l, unnest(l.celeb_ids[1:10]) celeb;

ALTER TABLE live_events
  -- Of a celeb's first time: which list, and the rank. Null where its state is the news.
  ADD COLUMN measure text, ADD COLUMN span text, ADD COLUMN rank integer,
  ADD CONSTRAINT live_events_rank CHECK (num_nonnulls(measure, span, rank) IN (0, 3)
    AND (rank IS NULL OR celeb_id IS NOT NULL));

CREATE FUNCTION top_tens(snapshot bigint) RETURNS TABLE (celeb_id bigint, measure text, span text, rank integer)
LANGUAGE sql STABLE AS $$
  SELECT e.celeb_id, l.measure, l.span, e.rank::integer FROM snapshot_lists(snapshot) l,
    unnest(l.celeb_ids[1:10]) WITH ORDINALITY AS e (celeb_id, rank)
$$;

-- To be called last in a transaction that makes a snapshot, since others wait from here to its end. Returns how many were news.
CREATE FUNCTION note_top_tens(snapshot bigint) RETURNS bigint
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  news bigint := 0;
BEGIN
  IF EXISTS (
    SELECT FROM top_tens(snapshot) LEFT JOIN celeb_top_tens t USING (celeb_id, measure, span) WHERE t.celeb_id IS NULL
  ) THEN
    PERFORM pg_advisory_xact_lock(live_lock());
    WITH added AS (
      INSERT INTO celeb_top_tens (celeb_id, measure, span) SELECT celeb_id, measure, span FROM top_tens(snapshot)
      ON CONFLICT DO NOTHING RETURNING celeb_id, measure, span
    )
    INSERT INTO live_events (id, celeb_id, measure, span, rank)
      SELECT nextval('live_event_id_sequence'), celeb_id, measure, span, rank
      FROM added JOIN top_tens(snapshot) USING (celeb_id, measure, span);
    GET DIAGNOSTICS news = ROW_COUNT;
    PERFORM pg_notify('fanmill_live', 'k');
  END IF;
  RETURN news;
END $$;

-- down

DROP FUNCTION note_top_tens(bigint);
DROP FUNCTION top_tens(bigint);
DELETE FROM live_events WHERE rank IS NOT NULL;
ALTER TABLE live_events DROP CONSTRAINT live_events_rank, DROP COLUMN measure, DROP COLUMN span, DROP COLUMN rank;
DROP FUNCTION prune_rank_days(date);
DROP FUNCTION keep_rank_day(bigint);
DROP FUNCTION snapshot_lists(bigint);
DROP TABLE celeb_top_tens;
DROP TABLE celeb_rank_days;
