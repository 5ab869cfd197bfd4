-- What workers did, hour by hour: a week of it is looked at as quickly as an hour is minute by minute. Minutes are kept for two
-- days from now on.
CREATE TABLE job_hours (
  hour timestamptz NOT NULL,
  queue text NOT NULL,
  kind text NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  dead bigint NOT NULL,
  run_ms double precision NOT NULL,
  wait_ms double precision NOT NULL,
  PRIMARY KEY (hour, queue, kind)
) WITH (fillfactor = 70);

INSERT INTO job_hours
SELECT date_trunc('hour', minute, 'UTC'), queue, kind, sum(completed), sum(failed), sum(dead), sum(run_ms), sum(wait_ms)
FROM job_minutes GROUP BY 1, 2, 3;

-- down

DROP TABLE job_hours;
