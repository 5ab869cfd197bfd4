-- How many fans of a celeb have given how many hearts: a fan's rank is a sum of a few rows, not a count of all fans.
--
-- A trigger keeps them, so they change in the transaction that writes the fans' own rows. The shard is of the session
-- that writes: sessions that count for one celeb rarely wait for the same row. A row of one shard may be negative,
-- since a fan may leave a level in another session than the one that brought it there; their sum is exact.
CREATE TABLE celeb_fan_levels (
  celeb_id bigint NOT NULL,
  hearts bigint NOT NULL,
  shard smallint NOT NULL,
  fans bigint NOT NULL,
  PRIMARY KEY (celeb_id, hearts, shard)
) WITH (fillfactor = 50);

CREATE FUNCTION fan_level_shard() RETURNS smallint
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN (pg_backend_pid() & 3)::smallint;

-- Each locks its rows in the order of their keys, so that no two statements wait for each other.

CREATE FUNCTION count_added_fans() RETURNS trigger
LANGUAGE plpgsql SET jit = off AS $$
BEGIN
  INSERT INTO celeb_fan_levels AS level (celeb_id, hearts, shard, fans)
    SELECT celeb_id, hearts, fan_level_shard(), count(*) FROM added WHERE since IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (celeb_id, hearts, shard) DO UPDATE SET fans = level.fans + excluded.fans;
  RETURN NULL;
END $$;

CREATE FUNCTION count_removed_fans() RETURNS trigger
LANGUAGE plpgsql SET jit = off AS $$
BEGIN
  INSERT INTO celeb_fan_levels AS level (celeb_id, hearts, shard, fans)
    SELECT celeb_id, hearts, fan_level_shard(), -count(*) FROM removed WHERE since IS NOT NULL
      GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (celeb_id, hearts, shard) DO UPDATE SET fans = level.fans + excluded.fans;
  RETURN NULL;
END $$;

CREATE FUNCTION count_changed_fans() RETURNS trigger
LANGUAGE plpgsql SET jit = off AS $$
BEGIN
  INSERT INTO celeb_fan_levels AS level (celeb_id, hearts, shard, fans)
    SELECT celeb_id, hearts, fan_level_shard(), sum(sign) FROM (
      SELECT celeb_id, hearts, 1 AS sign FROM after_change WHERE since IS NOT NULL
      UNION ALL
      SELECT celeb_id, hearts, -1 FROM before_change WHERE since IS NOT NULL
    ) change GROUP BY 1, 2 HAVING sum(sign) <> 0 ORDER BY 1, 2
    ON CONFLICT (celeb_id, hearts, shard) DO UPDATE SET fans = level.fans + excluded.fans;
  RETURN NULL;
END $$;

-- From here on nobody gives a heart until the upgrade commits.
CREATE TRIGGER count_added AFTER INSERT ON celeb_fans
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_added_fans();
CREATE TRIGGER count_removed AFTER DELETE ON celeb_fans
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_removed_fans();
CREATE TRIGGER count_changed AFTER UPDATE ON celeb_fans
  REFERENCING OLD TABLE AS before_change NEW TABLE AS after_change
  FOR EACH STATEMENT EXECUTE FUNCTION count_changed_fans();

INSERT INTO celeb_fan_levels (celeb_id, hearts, shard, fans)
  SELECT celeb_id, hearts, 0, count(*) FROM celeb_fans WHERE since IS NOT NULL GROUP BY 1, 2;

-- Counts all fans again, and returns how many levels were wrong. Hearts wait meanwhile.
CREATE FUNCTION recount_fan_levels() RETURNS bigint
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
  wrong bigint;
BEGIN
  LOCK TABLE celeb_fans IN SHARE ROW EXCLUSIVE MODE;
  SELECT count(*) INTO wrong FROM wrong_fan_levels;
  DELETE FROM celeb_fan_levels;
  INSERT INTO celeb_fan_levels (celeb_id, hearts, shard, fans)
    SELECT celeb_id, hearts, 0, count(*) FROM celeb_fans WHERE since IS NOT NULL GROUP BY 1, 2;
  RETURN wrong;
END $$;

-- Levels whose kept number of fans is not what there are.
CREATE VIEW wrong_fan_levels AS
  SELECT celeb_id, hearts, coalesce(kept.fans, 0) AS kept, coalesce(counted.fans, 0) AS counted
  FROM (SELECT celeb_id, hearts, sum(fans) AS fans FROM celeb_fan_levels GROUP BY 1, 2) kept
  FULL JOIN (SELECT celeb_id, hearts, count(*) AS fans FROM celeb_fans WHERE since IS NOT NULL GROUP BY 1, 2) counted
    USING (celeb_id, hearts)
  WHERE coalesce(kept.fans, 0) <> coalesce(counted.fans, 0);

-- down

DROP TRIGGER count_changed ON celeb_fans;
DROP TRIGGER count_removed ON celeb_fans;
DROP TRIGGER count_added ON celeb_fans;
DROP FUNCTION recount_fan_levels();
DROP VIEW wrong_fan_levels;
DROP FUNCTION count_changed_fans();
DROP FUNCTION count_removed_fans();
DROP FUNCTION count_added_fans();
DROP FUNCTION fan_level_shard();
DROP TABLE celeb_fan_levels;
