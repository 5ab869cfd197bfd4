-- What programs of the version before the queue had a schema of its own send to its tables: their statements as they were
-- recorded from that version's workers, API and CLI, each with parameters. FormerStatementsTests runs them on that
-- version's tables and on the views that stand in for them. Recorded, not written: nothing in it changes any more.

PREPARE s (text[], uuid[], text[], integer[], smallint[], text[], integer[], bigint[], text[], uuid[]) AS
INSERT INTO jobs (queue, id, kind, version, priority, payload, attempts, run_at, unique_key, trace) SELECT queue, id, kind, version, priority, payload, attempts, to_timestamp(run_at / 1000.0), unique_key, trace FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS new (queue, id, kind, version, priority, payload, attempts, run_at, unique_key, trace) ON CONFLICT DO NOTHING RETURNING id;
EXECUTE s ('{q,q}', '{00000000-0000-7000-8000-000000000001,00000000-0000-7000-8000-000000000002}', '{test.task,test.task}', '{1,1}', '{1,1}', '{"{}","{}"}', '{0,0}', '{NULL,NULL}', '{NULL,NULL}', '{NULL,NULL}');
DEALLOCATE s;

PREPARE s (text, uuid, text, integer, smallint, text, integer, bigint, uuid) AS
INSERT INTO jobs (queue, id, kind, version, priority, payload, attempts, run_at, trace)
VALUES ($1, $2, $3, $4,
  $5, $6, $7,
  to_timestamp($8::bigint / 1000.0), $9)
ON CONFLICT DO NOTHING RETURNING id;
EXECUTE s ('q', '00000000-0000-7000-8000-000000000001', 'test.task', '1', '1', '{}', '0', NULL, NULL);
DEALLOCATE s;

PREPARE s AS
SELECT queue, kind, CASE WHEN parked THEN 'parked' WHEN run_at > now() AND failures IS NOT NULL THEN 'retrying'
  WHEN run_at > now() THEN 'delayed' ELSE 'waiting' END, count(*)
FROM jobs GROUP BY 1, 2, 3
UNION ALL SELECT queue, kind, 'dead', count(*) FROM dead_jobs GROUP BY 1, 2;
EXECUTE s;
DEALLOCATE s;

PREPARE s (text, uuid, uuid, bigint) AS
SELECT id FROM jobs
WHERE queue = $1 AND id > $2 AND id < $3 AND NOT parked
ORDER BY id LIMIT $4;
EXECUTE s ('q', '00000000-0000-0000-0000-000000000000', '00000000-0000-7000-8000-000000000001', '1');
DEALLOCATE s;

PREPARE s AS
SELECT count(*) FROM jobs;
EXECUTE s;
DEALLOCATE s;

PREPARE s (uuid) AS
WITH RECURSIVE queues AS (
  (SELECT queue AS name FROM jobs ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM jobs WHERE queue > name ORDER BY queue LIMIT 1) FROM queues WHERE name IS NOT NULL
)
SELECT id, kind, queue, CASE WHEN parked THEN 'parked' WHEN run_at > now() AND failures IS NOT NULL THEN 'retrying'
  WHEN run_at > now() THEN 'delayed' ELSE 'waiting' END AS state,
priority, attempts, created_at, run_at, NULL::timestamptz AS died_at, NULL::timestamptz AS ended_at, unique_key,
failures->-1->>'error' AS error, version, payload, failures, trace
FROM jobs JOIN queues ON queue = name WHERE id = $1;
EXECUTE s ('00000000-0000-7000-8000-000000000001');
DEALLOCATE s;

PREPARE s (text, uuid, text) AS
WITH free AS MATERIALIZED (SELECT id AS free_id FROM jobs WHERE queue = $1 AND id = $2 FOR UPDATE SKIP LOCKED), gone AS (
  DELETE FROM jobs USING free WHERE queue = $3 AND id = free_id RETURNING id, jobs AS job
), kept AS (INSERT INTO ended_jobs (id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at, trace, state) SELECT (job).id, (job).queue, (job).kind, (job).version, (job).priority, (job).payload, (job).attempts, (job).unique_key, (job).failures, (job).created_at, (job).trace, 'cancelled' FROM gone
ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts, failures = excluded.failures,
  state = excluded.state, ended_at = excluded.ended_at)
SELECT id FROM gone;
EXECUTE s ('q', '00000000-0000-7000-8000-000000000001', 'q');
DEALLOCATE s;

PREPARE s (timestamp with time zone, text, text, uuid) AS
UPDATE jobs SET run_at = $1 WHERE queue = $2 AND id IN (
  SELECT id FROM jobs WHERE queue = $3 AND id = $4 AND NOT parked
  FOR UPDATE SKIP LOCKED);
EXECUTE s ('2096-10-02 07:06:40+00', 'q', 'q', '00000000-0000-7000-8000-000000000001');
DEALLOCATE s;

PREPARE s (integer, integer, text, uuid[], bigint) AS
SELECT id, kind, version, priority, attempts, run_at, unique_key, trace, size,
  CASE WHEN size <= $1 THEN payload END AS payload
FROM (
  SELECT id, kind, version, priority, attempts, unique_key, trace, payload, octet_length(payload) AS size,
    CASE WHEN run_at IS NOT NULL
      -- Whoever wrote 'infinity' gets a time that milliseconds can say.
      THEN (extract(epoch FROM least(greatest(run_at, 'epoch'), '9999-12-31')) * 1000)::bigint END AS run_at,
    sum(CASE WHEN octet_length(payload) <= $2 THEN octet_length(payload) ELSE 0 END)
      OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS total
  FROM jobs WHERE queue = $3 AND id = ANY($4) AND NOT parked
) AS found
WHERE total <= $5 ORDER BY id;
EXECUTE s ('16384', '16384', 'q', '{00000000-0000-7000-8000-000000000001}', '4194304');
DEALLOCATE s;

PREPARE s (text, uuid, text, integer, jsonb) AS
WITH free AS MATERIALIZED (SELECT id AS free_id FROM jobs WHERE queue = $1 AND id = $2 FOR UPDATE SKIP LOCKED), gone AS (
  DELETE FROM jobs USING free WHERE queue = $3 AND id = free_id RETURNING jobs.*
), unmarked AS (
  -- An order to end the job was meant for an attempt that is over, and not for the dead letter's retry.
  DELETE FROM job_cancellations USING gone WHERE job_cancellations.id = gone.id
)
INSERT INTO dead_jobs
  (id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at, trace)
SELECT id, queue, kind, version, priority, payload, $4, unique_key,
  coalesce(failures, '[]'::jsonb) || $5::jsonb, created_at, trace
FROM gone ON CONFLICT (id) DO NOTHING;
EXECUTE s ('q', '00000000-0000-7000-8000-000000000001', 'q', '3', '{"at":5,"worker":"w","attempt":3,"error":"it broke"}');
DEALLOCATE s;

PREPARE s (text, uuid[]) AS
SELECT id FROM jobs WHERE queue = $1 AND id = ANY($2);
EXECUTE s ('q', '{00000000-0000-7000-8000-000000000001}');
DEALLOCATE s;

PREPARE s (text) AS
SELECT id FROM jobs WHERE queue = $1 AND run_at IS NULL AND NOT parked ORDER BY id LIMIT 1;
EXECUTE s ('q');
DEALLOCATE s;

PREPARE s (text, uuid) AS
UPDATE jobs SET run_at = NULL WHERE queue = $1 AND id = $2 AND NOT parked;
EXECUTE s ('q', '00000000-0000-7000-8000-000000000001');
DEALLOCATE s;

PREPARE s AS
WITH RECURSIVE queues AS (
  (SELECT queue AS name FROM jobs ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM jobs WHERE queue > name ORDER BY queue LIMIT 1) FROM queues WHERE name IS NOT NULL
) SELECT name FROM queues WHERE name IS NOT NULL;
EXECUTE s;
DEALLOCATE s;

PREPARE s (bigint, text[]) AS
SELECT name, (SELECT count(*) FROM (
  SELECT FROM jobs WHERE queue = name AND parked LIMIT $1) AS counted)
FROM unnest($2) AS queues (name);
EXECUTE s ('10000', '{q,q}');
DEALLOCATE s;

PREPARE s (text, uuid, text) AS
WITH free AS MATERIALIZED (SELECT id AS free_id FROM jobs WHERE queue = $1 AND id = $2 FOR UPDATE SKIP LOCKED), gone AS (
  DELETE FROM jobs USING free WHERE queue = $3 AND id = free_id
  RETURNING CASE WHEN failures IS NOT NULL THEN jobs END AS job
), kept AS (INSERT INTO ended_jobs (id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at, trace, state) SELECT (job).id, (job).queue, (job).kind, (job).version, (job).priority, (job).payload, (job).attempts, (job).unique_key, (job).failures, (job).created_at, (job).trace, 'done' FROM gone WHERE (job).id IS NOT NULL
ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts, failures = excluded.failures,
  state = excluded.state, ended_at = excluded.ended_at)
SELECT count(*) FROM gone;
EXECUTE s ('q', '00000000-0000-7000-8000-000000000001', 'q');
DEALLOCATE s;

PREPARE s (text[], uuid[], text[], integer[], smallint[], text[], integer[], bigint[], text[], uuid[]) AS
INSERT INTO jobs (queue, id, kind, version, priority, payload, attempts, run_at, unique_key, trace) SELECT queue, id, kind, version, priority, payload, attempts, to_timestamp(run_at / 1000.0), unique_key, trace FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS new (queue, id, kind, version, priority, payload, attempts, run_at, unique_key, trace)
WHERE unique_key IS NULL OR NOT coalesce((
  SELECT true FROM jobs AS old WHERE old.queue = new.queue AND old.unique_key = new.unique_key LIMIT 1), false)
ON CONFLICT DO NOTHING RETURNING id;
EXECUTE s ('{q}', '{00000000-0000-7000-8000-000000000001}', '{test.sweep}', '{1}', '{1}', '{"{\"tick\":1767225600000}"}', '{0}', '{NULL}', '{hourly}', '{NULL}');
DEALLOCATE s;

PREPARE s (text[], bigint[], text) AS
UPDATE jobs SET parked = false
FROM unnest($1, $2) AS known (kind, version)
WHERE jobs.queue = $3 AND jobs.parked AND jobs.kind = known.kind
  AND jobs.version <= known.version;
EXECUTE s ('{posts.fan-out}', '{1}', 'q');
DEALLOCATE s;

PREPARE s (text, uuid) AS
SELECT EXISTS(SELECT FROM jobs WHERE queue = $1 AND id = $2);
EXECUTE s ('q', '00000000-0000-7000-8000-000000000001');
DEALLOCATE s;

PREPARE s (text, uuid, uuid, double precision, bigint) AS
SELECT id FROM jobs
WHERE queue = $1 AND id > $2 AND id < $3 AND NOT parked
  AND created_at <= now() - make_interval(secs => $4)
ORDER BY id DESC LIMIT $5;
EXECUTE s ('q', '00000000-0000-7000-8000-000000000001', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '0', '1000');
DEALLOCATE s;

PREPARE s (text, uuid, text) AS
WITH free AS MATERIALIZED (SELECT id AS free_id FROM jobs WHERE queue = $1 AND id = $2 FOR UPDATE SKIP LOCKED), gone AS (
  DELETE FROM jobs USING free WHERE queue = $3 AND id = free_id
  RETURNING id, CASE WHEN failures IS NOT NULL THEN jobs END AS job
), kept AS (INSERT INTO ended_jobs (id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at, trace, state) SELECT (job).id, (job).queue, (job).kind, (job).version, (job).priority, (job).payload, (job).attempts, (job).unique_key, (job).failures, (job).created_at, (job).trace, 'done' FROM gone WHERE (job).id IS NOT NULL
ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts, failures = excluded.failures,
  state = excluded.state, ended_at = excluded.ended_at)
SELECT id FROM gone;
EXECUTE s ('q', '00000000-0000-7000-8000-000000000001', 'q');
DEALLOCATE s;

PREPARE s (text, text) AS
SELECT EXISTS(SELECT FROM jobs WHERE queue = $1), EXISTS(SELECT FROM queue_pauses WHERE queue = $2);
EXECUTE s ('q', 'q');
DEALLOCATE s;

PREPARE s (text, uuid[], text) AS
WITH free AS MATERIALIZED (SELECT id AS free_id FROM jobs WHERE queue = $1 AND id = ANY($2) ORDER BY id FOR UPDATE SKIP LOCKED), gone AS (
  DELETE FROM jobs USING free WHERE queue = $3 AND id = free_id
  RETURNING CASE WHEN failures IS NOT NULL THEN jobs END AS job
), kept AS (INSERT INTO ended_jobs (id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at, trace, state) SELECT (job).id, (job).queue, (job).kind, (job).version, (job).priority, (job).payload, (job).attempts, (job).unique_key, (job).failures, (job).created_at, (job).trace, 'done' FROM gone WHERE (job).id IS NOT NULL
ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts, failures = excluded.failures,
  state = excluded.state, ended_at = excluded.ended_at)
SELECT count(*) FROM gone;
EXECUTE s ('q', '{00000000-0000-7000-8000-000000000001,00000000-0000-7000-8000-000000000002}', 'q');
DEALLOCATE s;

PREPARE s (text, uuid, uuid, bigint) AS
SELECT id FROM jobs WHERE queue = $1 AND id > $2 AND id < $3
ORDER BY id LIMIT $4;
EXECUTE s ('q', '00000000-0000-0000-0000-000000000000', '00000000-0000-7000-8000-000000000001', '1000');
DEALLOCATE s;

PREPARE s (text, uuid[], text) AS
WITH free AS MATERIALIZED (SELECT id AS free_id FROM jobs WHERE queue = $1 AND id = ANY($2) ORDER BY id FOR UPDATE SKIP LOCKED), gone AS (
  DELETE FROM jobs USING free WHERE queue = $3 AND id = free_id RETURNING id, jobs AS job
), kept AS (INSERT INTO ended_jobs (id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at, trace, state) SELECT (job).id, (job).queue, (job).kind, (job).version, (job).priority, (job).payload, (job).attempts, (job).unique_key, (job).failures, (job).created_at, (job).trace, 'cancelled' FROM gone
ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts, failures = excluded.failures,
  state = excluded.state, ended_at = excluded.ended_at)
SELECT id FROM gone;
EXECUTE s ('q', '{00000000-0000-7000-8000-000000000001,00000000-0000-7000-8000-000000000002,00000000-0000-7000-8000-000000000003}', 'q');
DEALLOCATE s;

PREPARE s (text, uuid[], text, uuid[]) AS
WITH free AS MATERIALIZED (SELECT id AS free_id FROM jobs WHERE queue = $1 AND id = ANY($2) ORDER BY id FOR UPDATE SKIP LOCKED), gone AS (
  DELETE FROM jobs USING free WHERE queue = $3 AND id = free_id RETURNING id, jobs AS job
), unmarked AS (DELETE FROM job_cancellations WHERE id = ANY($4)),
kept AS (INSERT INTO ended_jobs (id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at, trace, state) SELECT (job).id, (job).queue, (job).kind, (job).version, (job).priority, (job).payload, (job).attempts, (job).unique_key, (job).failures, (job).created_at, (job).trace, 'cancelled' FROM gone
ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts, failures = excluded.failures,
  state = excluded.state, ended_at = excluded.ended_at)
SELECT id FROM gone;
EXECUTE s ('q', '{00000000-0000-7000-8000-000000000001,00000000-0000-7000-8000-000000000002}', 'q', '{00000000-0000-7000-8000-000000000001,00000000-0000-7000-8000-000000000002}');
DEALLOCATE s;

PREPARE s (text, uuid, text, uuid[]) AS
WITH free AS MATERIALIZED (SELECT id AS free_id FROM jobs WHERE queue = $1 AND id = $2 FOR UPDATE SKIP LOCKED), gone AS (
  DELETE FROM jobs USING free WHERE queue = $3 AND id = free_id RETURNING id, jobs AS job
), unmarked AS (DELETE FROM job_cancellations WHERE id = ANY($4)),
kept AS (INSERT INTO ended_jobs (id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at, trace, state) SELECT (job).id, (job).queue, (job).kind, (job).version, (job).priority, (job).payload, (job).attempts, (job).unique_key, (job).failures, (job).created_at, (job).trace, 'cancelled' FROM gone
ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts, failures = excluded.failures,
  state = excluded.state, ended_at = excluded.ended_at)
SELECT id FROM gone;
EXECUTE s ('q', '00000000-0000-7000-8000-000000000001', 'q', '{00000000-0000-7000-8000-000000000001}');
DEALLOCATE s;

PREPARE s (text, text, text) AS
SELECT count(*) FILTER (WHERE is_due AND (is_there OR is_missing)), count(*) FILTER (WHERE is_there),
  count(*) FILTER (WHERE is_missing), count(*) FILTER (WHERE is_stale),
  (SELECT count(*) FROM (SELECT owner_id, coalesce(c.kept, 0) AS kept, coalesce(n.kept, 0) AS kept_found, coalesce(c.unread, 0) AS unread,
  coalesce(n.unread, 0) AS unread_found
FROM notification_counts c FULL JOIN (
  SELECT n.owner_id, count(*) AS kept,
    count(*) FILTER (WHERE NOT n.checked AND n.id > coalesce(had.checked_until, 0)) AS unread
  FROM notifications n LEFT JOIN notification_counts had USING (owner_id) GROUP BY n.owner_id
) n USING (owner_id)
WHERE (coalesce(c.kept, 0), coalesce(c.unread, 0)) <> (coalesce(n.kept, 0), coalesce(n.unread, 0))) x),
  (SELECT count(*) FROM jobs WHERE queue = $1
    AND kind IN ($2, $3))
FROM (SELECT owner_id, type, actor_id, post_id, comment_id, due_at IS NOT NULL AS is_due, told_at IS NOT NULL AS is_there,
  due_at IS NOT NULL AND due_at > coalesce(c.trimmed_until, '-infinity')
    AND (told_at IS NULL OR (told_at <> due_at AND NOT stays)) AS is_missing,
  told_at IS NOT NULL AND NOT stays AND (due_at IS NULL OR told_at <> due_at) AS is_stale
FROM (
  SELECT owner_id, type, actor_id, post_id, comment_id, due.created_at AS due_at, n.created_at AS told_at,
    n.type = 2 AND (n.checked OR n.id <= had.checked_until) AS stays
  FROM (SELECT p.author_id AS owner_id, l.post_id, 0::smallint AS type, l.account_id AS actor_id, 0::bigint AS comment_id,
  l.created_at FROM likes l JOIN posts p ON p.id = l.post_id WHERE l.account_id <> p.author_id
UNION ALL
SELECT p.author_id, c.post_id, 1::smallint, c.account_id, c.id, c.created_at
  FROM comments c JOIN posts p ON p.id = c.post_id WHERE c.account_id <> p.author_id
UNION ALL
SELECT followee_id, 0::bigint, 2::smallint, follower_id, 0::bigint, created_at FROM follows WHERE is_announced) due FULL JOIN notifications n USING (owner_id, post_id, type, actor_id, comment_id)
  LEFT JOIN notification_counts had USING (owner_id)
) both_sides LEFT JOIN notification_counts c USING (owner_id)) compared;
EXECUTE s ('q', 'notifications.update', 'notifications.sweep-post');
DEALLOCATE s;

PREPARE s AS
SELECT (SELECT count(*) FROM celebs),
  (SELECT coalesce(sum(least(cardinality(l.celeb_ids), s.depth)), 0)::bigint
    FROM ranking_snapshots s, ranking_keys k, LATERAL (
      SELECT celeb_ids FROM ranking_lists
      WHERE platform = k.platform AND measure = k.measure AND span = k.span ORDER BY snapshot_id DESC LIMIT 1) l
    WHERE s.id = (SELECT max(id) FROM ranking_snapshots)),
  (SELECT count(*) FROM jobs WHERE kind IN ('hearts.count', 'celebs.count'))
    + (SELECT count(*) FROM dead_jobs WHERE kind IN ('hearts.count', 'celebs.count')),
  (SELECT count(DISTINCT celeb_id) FROM ranking_changes);
EXECUTE s;
DEALLOCATE s;

PREPARE s (text, uuid, uuid[], bigint[], bigint[], text[], text) AS
WITH free AS MATERIALIZED (SELECT id AS free_id FROM jobs WHERE queue = $1 AND id = $2 FOR UPDATE SKIP LOCKED)
UPDATE jobs SET attempts = attempt, run_at = to_timestamp(due / 1000.0),
  failures = coalesce(failures, '[]'::jsonb) || failure::jsonb
FROM unnest($3, $4,
    $5, $6)
  AS new (failed, attempt, due, failure) JOIN free ON free_id = failed
WHERE queue = $7 AND id = failed
RETURNING id;
EXECUTE s ('q', '00000000-0000-7000-8000-000000000001', '{00000000-0000-7000-8000-000000000001}', '{1}', '{2}', '{"{\"worker\":\"w\",\"error\":\"one\",\"at\":1,\"attempt\":1}"}', 'q');
DEALLOCATE s;

PREPARE s (text, uuid, uuid, uuid[], text, text, bigint) AS
SELECT id, kind, queue, CASE WHEN parked THEN 'parked' WHEN run_at > now() AND failures IS NOT NULL THEN 'retrying'
  WHEN run_at > now() THEN 'delayed' ELSE 'waiting' END AS state,
priority, attempts, created_at, run_at, NULL::timestamptz AS died_at, NULL::timestamptz AS ended_at, unique_key,
failures->-1->>'error' AS error, NULL::text AS sought FROM jobs
WHERE queue = $1 AND id < $2 AND id >= $3 
  AND true AND NOT (id = ANY($4)) AND ($5 IS NULL OR kind = $6) AND true
ORDER BY id DESC LIMIT $7;
EXECUTE s ('q', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000', '{}', NULL, NULL, '3');
DEALLOCATE s;

PREPARE s (text[], uuid[], uuid, uuid, text, text, text, text, bigint) AS
SELECT id, kind, queue, CASE WHEN parked THEN 'parked' WHEN run_at > now() AND failures IS NOT NULL THEN 'retrying'
  WHEN run_at > now() THEN 'delayed' ELSE 'waiting' END AS state,
priority, attempts, created_at, run_at, NULL::timestamptz AS died_at, NULL::timestamptz AS ended_at, unique_key,
failures->-1->>'error' AS error, NULL::text AS sought
FROM jobs JOIN unnest($1, $2) AS run (run_queue, run_id)
  ON queue = run_queue AND id = run_id
WHERE NOT parked AND (run_at IS NULL OR run_at <= now())
  AND id < $3 AND id >= $4
  AND ($5 IS NULL OR kind = $6) AND ($7 IS NULL OR queue = $8)
  AND true
ORDER BY id DESC LIMIT $9;
EXECUTE s ('{}', '{}', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000', NULL, NULL, NULL, NULL, '51');
DEALLOCATE s;

PREPARE s (text, uuid, uuid, bigint) AS
SELECT id FROM jobs WHERE queue = $1 AND id < $2 AND id >= $3 
ORDER BY id DESC OFFSET $4 LIMIT 1;
EXECUTE s ('q', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000', '3332');
DEALLOCATE s;

PREPARE s (text, uuid, uuid, uuid[], text, text, bigint) AS
SELECT id, kind, queue, CASE WHEN parked THEN 'parked' WHEN run_at > now() AND failures IS NOT NULL THEN 'retrying'
  WHEN run_at > now() THEN 'delayed' ELSE 'waiting' END AS state,
priority, attempts, created_at, run_at, NULL::timestamptz AS died_at, NULL::timestamptz AS ended_at, unique_key,
failures->-1->>'error' AS error, NULL::text AS sought FROM jobs
WHERE queue = $1 AND id < $2 AND id >= $3 
  AND NOT parked AND (run_at IS NULL OR run_at <= now()) AND NOT (id = ANY($4)) AND ($5 IS NULL OR kind = $6) AND true
ORDER BY id DESC LIMIT $7;
EXECUTE s ('q', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000', '{}', NULL, NULL, '51');
DEALLOCATE s;

PREPARE s (text, uuid, uuid, bigint) AS
SELECT id FROM jobs WHERE queue = $1 AND id < $2 AND id >= $3 AND failures IS NOT NULL
ORDER BY id DESC OFFSET $4 LIMIT 1;
EXECUTE s ('q', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000', '9999');
DEALLOCATE s;

PREPARE s (text, uuid, uuid, uuid[], text, text, bigint) AS
SELECT id, kind, queue, CASE WHEN parked THEN 'parked' WHEN run_at > now() AND failures IS NOT NULL THEN 'retrying'
  WHEN run_at > now() THEN 'delayed' ELSE 'waiting' END AS state,
priority, attempts, created_at, run_at, NULL::timestamptz AS died_at, NULL::timestamptz AS ended_at, unique_key,
failures->-1->>'error' AS error, NULL::text AS sought FROM jobs
WHERE queue = $1 AND id < $2 AND id >= $3 AND failures IS NOT NULL
  AND NOT parked AND run_at > now() AND NOT (id = ANY($4)) AND ($5 IS NULL OR kind = $6) AND true
ORDER BY id DESC LIMIT $7;
EXECUTE s ('q', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000', '{}', NULL, NULL, '51');
DEALLOCATE s;

PREPARE s (text, uuid, uuid, bigint) AS
SELECT id FROM jobs WHERE queue = $1 AND id < $2 AND id >= $3 AND run_at IS NOT NULL
ORDER BY id DESC OFFSET $4 LIMIT 1;
EXECUTE s ('q', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000', '9999');
DEALLOCATE s;

PREPARE s (text, uuid, uuid, uuid[], text, text, bigint) AS
SELECT id, kind, queue, CASE WHEN parked THEN 'parked' WHEN run_at > now() AND failures IS NOT NULL THEN 'retrying'
  WHEN run_at > now() THEN 'delayed' ELSE 'waiting' END AS state,
priority, attempts, created_at, run_at, NULL::timestamptz AS died_at, NULL::timestamptz AS ended_at, unique_key,
failures->-1->>'error' AS error, NULL::text AS sought FROM jobs
WHERE queue = $1 AND id < $2 AND id >= $3 AND run_at IS NOT NULL
  AND NOT parked AND run_at > now() AND failures IS NULL AND NOT (id = ANY($4)) AND ($5 IS NULL OR kind = $6) AND true
ORDER BY id DESC LIMIT $7;
EXECUTE s ('q', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000', '{}', NULL, NULL, '51');
DEALLOCATE s;

PREPARE s (text, uuid, uuid, bigint) AS
SELECT id FROM jobs WHERE queue = $1 AND id < $2 AND id >= $3 AND parked
ORDER BY id DESC OFFSET $4 LIMIT 1;
EXECUTE s ('q', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000', '9999');
DEALLOCATE s;

PREPARE s (text, uuid, uuid, uuid[], text, text, bigint) AS
SELECT id, kind, queue, CASE WHEN parked THEN 'parked' WHEN run_at > now() AND failures IS NOT NULL THEN 'retrying'
  WHEN run_at > now() THEN 'delayed' ELSE 'waiting' END AS state,
priority, attempts, created_at, run_at, NULL::timestamptz AS died_at, NULL::timestamptz AS ended_at, unique_key,
failures->-1->>'error' AS error, NULL::text AS sought FROM jobs
WHERE queue = $1 AND id < $2 AND id >= $3 AND parked
  AND true AND NOT (id = ANY($4)) AND ($5 IS NULL OR kind = $6) AND true
ORDER BY id DESC LIMIT $7;
EXECUTE s ('q', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000', '{}', NULL, NULL, '51');
DEALLOCATE s;

PREPARE s (text, uuid, uuid) AS
SELECT count(*) FROM jobs WHERE queue = $1 AND id < $2 AND id >= $3;
EXECUTE s ('q', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000');
DEALLOCATE s;

PREPARE s (text, uuid, uuid, uuid[], text, text, text, bigint) AS
SELECT id, kind, queue, CASE WHEN parked THEN 'parked' WHEN run_at > now() AND failures IS NOT NULL THEN 'retrying'
  WHEN run_at > now() THEN 'delayed' ELSE 'waiting' END AS state,
priority, attempts, created_at, run_at, NULL::timestamptz AS died_at, NULL::timestamptz AS ended_at, unique_key,
failures->-1->>'error' AS error, CASE WHEN octet_length(payload) <= 4194 THEN payload END AS sought FROM jobs, LATERAL (SELECT lower(payload COLLATE "C") AS small OFFSET 0) AS prepared
WHERE queue = $1 AND id < $2 AND id >= $3 
  AND true AND NOT (id = ANY($4)) AND ($5 IS NULL OR kind = $6) AND (strpos(payload, $7) > 0 OR (strpos(small, 'password') > 0 OR strpos(small, 'secret') > 0 OR strpos(small, 'token') > 0 OR strpos(small, 'apikey') > 0 OR strpos(small, 'api_key') > 0 OR strpos(small, 'authorization') > 0))
ORDER BY id DESC LIMIT $8;
EXECUTE s ('q', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-0000000088b9', '{}', NULL, NULL, 'nowhere', '51');
DEALLOCATE s;

PREPARE s (text[], uuid[], uuid, uuid, text, text, text, text, text, bigint) AS
SELECT id, kind, queue, CASE WHEN parked THEN 'parked' WHEN run_at > now() AND failures IS NOT NULL THEN 'retrying'
  WHEN run_at > now() THEN 'delayed' ELSE 'waiting' END AS state,
priority, attempts, created_at, run_at, NULL::timestamptz AS died_at, NULL::timestamptz AS ended_at, unique_key,
failures->-1->>'error' AS error, CASE WHEN octet_length(payload) <= 4194 THEN payload END AS sought
FROM jobs JOIN unnest($1, $2) AS run (run_queue, run_id)
  ON queue = run_queue AND id = run_id, LATERAL (SELECT lower(payload COLLATE "C") AS small OFFSET 0) AS prepared
WHERE NOT parked AND (run_at IS NULL OR run_at <= now())
  AND id < $3 AND id >= $4
  AND ($5 IS NULL OR kind = $6) AND ($7 IS NULL OR queue = $8)
  AND (strpos(payload, $9) > 0 OR (strpos(small, 'password') > 0 OR strpos(small, 'secret') > 0 OR strpos(small, 'token') > 0 OR strpos(small, 'apikey') > 0 OR strpos(small, 'api_key') > 0 OR strpos(small, 'authorization') > 0))
ORDER BY id DESC LIMIT $10;
EXECUTE s ('{q,q,q}', '{00000000-0000-0000-0000-000000000001,00000000-0000-0000-0000-000000000003,00000000-0000-0000-0000-000000000002}', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000', NULL, NULL, NULL, NULL, 'n2.', '3');
DEALLOCATE s;

PREPARE s (timestamp with time zone, boolean, text, text) AS
UPDATE lookups l SET state = 'failed', retry_at = NULL, ended_at = $1,
  reason = coalesce(l.reason, 'given_up'), message = coalesce(l.message, 'its job was given up')
FROM (
  SELECT id, job FROM lookups open
  WHERE state IN ('waiting', 'running', 'parked') AND ($2 OR question = $3)
    AND NOT EXISTS (SELECT FROM jobs WHERE queue = $4 AND jobs.id = open.job)
) abandoned
WHERE l.id = abandoned.id AND l.job = abandoned.job AND l.state IN ('waiting', 'running', 'parked');
EXECUTE s ('2026-11-24 11:56:02.468048+00', 'f', 'handle:@name', 'q');
DEALLOCATE s;

PREPARE s (text, uuid[], text) AS
WITH free AS MATERIALIZED (SELECT id AS free_id FROM jobs WHERE queue = $1 AND id = ANY($2) ORDER BY id FOR UPDATE SKIP LOCKED), gone AS (
  DELETE FROM jobs USING free WHERE queue = $3 AND id = free_id
  RETURNING id, CASE WHEN failures IS NOT NULL THEN jobs END AS job
), kept AS (INSERT INTO ended_jobs (id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at, trace, state) SELECT (job).id, (job).queue, (job).kind, (job).version, (job).priority, (job).payload, (job).attempts, (job).unique_key, (job).failures, (job).created_at, (job).trace, 'done' FROM gone WHERE (job).id IS NOT NULL
ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts, failures = excluded.failures,
  state = excluded.state, ended_at = excluded.ended_at)
SELECT id FROM gone;
EXECUTE s ('q', '{00000000-0000-7000-8000-000000000001,00000000-0000-7000-8000-000000000002,00000000-0000-7000-8000-000000000003}', 'q');
DEALLOCATE s;

PREPARE s (text, uuid[], uuid[], bigint[], bigint[], text[], text) AS
WITH free AS MATERIALIZED (SELECT id AS free_id FROM jobs WHERE queue = $1 AND id = ANY($2) ORDER BY id FOR UPDATE SKIP LOCKED)
UPDATE jobs SET attempts = attempt, run_at = to_timestamp(due / 1000.0),
  failures = coalesce(failures, '[]'::jsonb) || failure::jsonb
FROM unnest($3, $4,
    $5, $6)
  AS new (failed, attempt, due, failure) JOIN free ON free_id = failed
WHERE queue = $7 AND id = failed
RETURNING id;
EXECUTE s ('q', '{00000000-0000-7000-8000-000000000001,00000000-0000-7000-8000-000000000002}', '{00000000-0000-7000-8000-000000000001,00000000-0000-7000-8000-000000000002}', '{1,1}', '{5,5}', '{"{\"attempt\":1,\"at\":1,\"error\":\"no\",\"worker\":\"w\"}","{\"worker\":\"w\",\"error\":\"no\",\"attempt\":1,\"at\":1}"}', 'q');
DEALLOCATE s;

PREPARE s (text, uuid[], text) AS
WITH free AS MATERIALIZED (SELECT id AS free_id FROM jobs WHERE queue = $1 AND id = ANY($2) ORDER BY id FOR UPDATE SKIP LOCKED)
UPDATE jobs SET parked = true FROM free WHERE queue = $3 AND id = free_id;
EXECUTE s ('q', '{00000000-0000-7000-8000-000000000001,00000000-0000-7000-8000-000000000002}', 'q');
DEALLOCATE s;

PREPARE s (text, uuid[]) AS
SELECT id FROM jobs
WHERE queue = $1 AND id = ANY($2) AND NOT parked;
EXECUTE s ('other', '{00000000-0000-7000-8000-000000000001}');
DEALLOCATE s;

PREPARE s (text, uuid, text) AS
WITH free AS MATERIALIZED (SELECT id AS free_id FROM jobs WHERE queue = $1 AND id = $2 FOR UPDATE SKIP LOCKED)
UPDATE jobs SET parked = true FROM free WHERE queue = $3 AND id = free_id;
EXECUTE s ('other', '00000000-0000-7000-8000-000000000001', 'other');
DEALLOCATE s;

PREPARE s (uuid[], text[], text, text) AS
WITH free AS (
  SELECT id AS free_id, reason FROM jobs
  JOIN unnest($1, $2)
    AS refused (refused_id, reason) ON id = refused_id
  WHERE queue = $3 AND refusal IS DISTINCT FROM reason
  FOR UPDATE OF jobs SKIP LOCKED
)
UPDATE jobs SET refusal = reason FROM free WHERE queue = $4 AND id = free_id;
EXECUTE s ('{00000000-0000-7000-8000-000000000001}', '{"no such thing"}', 'q', 'q');
DEALLOCATE s;

PREPARE s (text, uuid[]) AS
SELECT id, payload FROM jobs WHERE queue = $1 AND id = ANY($2);
EXECUTE s ('other', '{00000000-0000-7000-8000-000000000001,00000000-0000-7000-8000-000000000002,00000000-0000-7000-8000-000000000003,00000000-0000-7000-8000-000000000004}');
DEALLOCATE s;

PREPARE s AS
SELECT id, queue, refusal FROM jobs WHERE refusal IS NOT NULL ORDER BY queue, id LIMIT 100;
EXECUTE s;
DEALLOCATE s;

PREPARE s (text, uuid, bigint, bigint) AS
SELECT * FROM (
  SELECT *, octet_length(payload) AS size,
    sum(octet_length(payload)) OVER (ORDER BY queue, id ROWS UNBOUNDED PRECEDING) AS total
  FROM (SELECT id, kind, queue, version, priority, attempts, created_at, run_at, NULL::timestamptz AS died_at, unique_key,
  parked, payload, failures
FROM jobs WHERE (queue, id) > ($1, $2) ORDER BY queue, id LIMIT $3) AS page
) AS bounded WHERE total <= $4 OR total = size ORDER BY queue, id;
EXECUTE s ('', '00000000-0000-0000-0000-000000000000', '5000', '4194304');
DEALLOCATE s;

PREPARE s (uuid) AS
SELECT id, kind, queue, 'dead' AS state, priority, attempts, created_at, NULL::timestamptz AS run_at, died_at,
NULL::timestamptz AS ended_at, unique_key, failures->-1->>'error' AS error, version, payload, failures, trace FROM dead_jobs WHERE id = $1;
EXECUTE s ('00000000-0000-7000-8000-000000000001');
DEALLOCATE s;

PREPARE s (uuid, bigint) AS
SELECT id, queue, kind, version, priority, payload, unique_key, trace FROM dead_jobs WHERE id IN (
  SELECT id FROM (
    SELECT id, octet_length(payload) AS size,
      sum(octet_length(payload)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS total
    FROM dead_jobs WHERE id = $1
  ) AS next WHERE total <= $2 OR total = size
) ORDER BY id FOR UPDATE;
EXECUTE s ('00000000-0000-7000-8000-000000000001', '4194304');
DEALLOCATE s;

PREPARE s AS
SELECT count(*) FROM dead_jobs;
EXECUTE s;
DEALLOCATE s;

PREPARE s (uuid[]) AS
WITH gone AS (
  DELETE FROM dead_jobs WHERE id = ANY($1) RETURNING id, queue, failures, created_at
)
UPDATE jobs SET failures = gone.failures, created_at = gone.created_at
FROM gone WHERE jobs.queue = gone.queue AND jobs.id = gone.id;
EXECUTE s ('{00000000-0000-7000-8000-000000000001}');
DEALLOCATE s;

PREPARE s (uuid, text, text, bigint) AS
SELECT id FROM dead_jobs WHERE id IN (SELECT id FROM dead_jobs WHERE id > $1 AND ($2 IS NULL OR kind = $3) ORDER BY id LIMIT $4) FOR UPDATE;
EXECUTE s ('00000000-0000-0000-0000-000000000000', NULL, NULL, '1000');
DEALLOCATE s;

PREPARE s (uuid[]) AS
WITH gone AS (DELETE FROM dead_jobs WHERE id = ANY($1) RETURNING *)
INSERT INTO ended_jobs (id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at, trace, state) SELECT id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at, trace, 'deleted' FROM gone
ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts, failures = excluded.failures,
  state = excluded.state, ended_at = excluded.ended_at;
EXECUTE s ('{00000000-0000-7000-8000-000000000001}');
DEALLOCATE s;

PREPARE s (uuid, text, text, bigint, bigint) AS
SELECT id, queue, kind, version, priority, payload, unique_key, trace FROM dead_jobs WHERE id IN (
  SELECT id FROM (
    SELECT id, octet_length(payload) AS size,
      sum(octet_length(payload)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS total
    FROM dead_jobs WHERE id IN (SELECT id FROM dead_jobs WHERE id > $1 AND ($2 IS NULL OR kind = $3) ORDER BY id LIMIT $4)
  ) AS next WHERE total <= $5 OR total = size
) ORDER BY id FOR UPDATE;
EXECUTE s ('00000000-0000-0000-0000-000000000000', NULL, NULL, '1000', '4194304');
DEALLOCATE s;

PREPARE s (integer, bigint) AS
DELETE FROM dead_jobs WHERE id IN (
  SELECT id FROM dead_jobs WHERE died_at < now() - make_interval(days => $1)
  ORDER BY died_at, id LIMIT $2 FOR UPDATE SKIP LOCKED);
EXECUTE s ('3', '200');
DEALLOCATE s;

PREPARE s (bigint, bigint) AS
DELETE FROM dead_jobs WHERE id IN (
  SELECT id FROM dead_jobs
  WHERE (died_at, id) <= (
    SELECT died_at, id FROM dead_jobs ORDER BY died_at DESC, id DESC OFFSET $1 LIMIT 1)
  ORDER BY died_at, id LIMIT $2 FOR UPDATE SKIP LOCKED);
EXECUTE s ('30', '200');
DEALLOCATE s;

PREPARE s (text, timestamp with time zone, uuid, timestamp with time zone, timestamp with time zone, uuid, text, text, text, text, bigint) AS
SELECT id, kind, queue, 'dead' AS state, priority, attempts, created_at, NULL::timestamptz AS run_at, died_at,
NULL::timestamptz AS ended_at, unique_key, failures->-1->>'error' AS error, died_at AS place,
  NULL::text AS sought
FROM dead_jobs
WHERE '' = $1 AND (died_at, id) < ($2, $3) AND died_at >= $4 AND (died_at, id) >= ($5, $6)
  AND ($7 IS NULL OR kind = $8) AND ($9 IS NULL OR queue = $10) AND true
ORDER BY died_at DESC, id DESC LIMIT $11;
EXECUTE s ('', 'infinity', '00000000-0000-0000-0000-000000000000', '-infinity', '-infinity', '00000000-0000-0000-0000-000000000000', NULL, NULL, NULL, NULL, '2');
DEALLOCATE s;

PREPARE s (text, timestamp with time zone, uuid, timestamp with time zone, timestamp with time zone, uuid, text, text, text, text, bigint) AS
SELECT id, kind, queue, 'dead' AS state, priority, attempts, created_at, NULL::timestamptz AS run_at, died_at,
NULL::timestamptz AS ended_at, unique_key, failures->-1->>'error' AS error, died_at AS place,
  NULL::text AS sought
FROM dead_jobs
WHERE kind = $1 AND (died_at, id) < ($2, $3) AND died_at >= $4 AND (died_at, id) >= ($5, $6)
  AND ($7 IS NULL OR kind = $8) AND ($9 IS NULL OR queue = $10) AND true
ORDER BY died_at DESC, id DESC LIMIT $11;
EXECUTE s ('x', 'infinity', '00000000-0000-0000-0000-000000000000', '-infinity', '-infinity', '00000000-0000-0000-0000-000000000000', 'x', 'x', NULL, NULL, '9');
DEALLOCATE s;

PREPARE s (text, timestamp with time zone, uuid, timestamp with time zone, bigint) AS
SELECT died_at, id FROM dead_jobs WHERE kind = $1 AND (died_at, id) < ($2, $3) AND died_at >= $4
ORDER BY died_at DESC, id DESC OFFSET $5 LIMIT 1;
EXECUTE s ('x', 'infinity', '00000000-0000-0000-0000-000000000000', '-infinity', '9999');
DEALLOCATE s;

PREPARE s (text, timestamp with time zone, uuid, timestamp with time zone, bigint) AS
SELECT died_at, id FROM dead_jobs WHERE '' = $1 AND (died_at, id) < ($2, $3) AND died_at >= $4
ORDER BY died_at DESC, id DESC OFFSET $5 LIMIT 1;
EXECUTE s ('', 'infinity', '00000000-0000-0000-0000-000000000000', '-infinity', '9999');
DEALLOCATE s;

PREPARE s (uuid, text, text, integer, smallint, text, integer, jsonb, numeric, uuid) AS
INSERT INTO dead_jobs (id, queue, kind, version, priority, payload, attempts, failures, created_at, trace)
VALUES ($1, $2, $3,
  $4, $5, $6,
  $7, $8::jsonb,
  to_timestamp($9 / 1000.0), $10)
ON CONFLICT (id) DO NOTHING;
EXECUTE s ('00000000-0000-7000-8000-000000000001', 'q', 'fleeting', '1', '1', '{}', '2', '[{"error":"one","worker":"w","attempt":1,"at":1700000000001},{"error":"two","worker":"w","attempt":2,"at":1700000000002}]', '1795521399473', NULL);
DEALLOCATE s;

PREPARE s AS
SELECT (SELECT count(*) FROM dead_jobs), (SELECT count(*) FROM jobs WHERE parked);
EXECUTE s;
DEALLOCATE s;

PREPARE s (bigint, text[], bigint, bigint) AS
SELECT id, kind, state, at, error FROM (
  (SELECT id, kind, 'dead' AS state, died_at AS at, failures->-1->>'error' AS error FROM dead_jobs
    ORDER BY died_at DESC, id DESC LIMIT $1)
  UNION ALL
  SELECT x.* FROM unnest($2) AS queues (name), LATERAL (
    SELECT id, kind, 'retrying', to_timestamp((failures->-1->>'at')::bigint / 1000.0), failures->-1->>'error'
    FROM jobs WHERE queue = name AND failures IS NOT NULL ORDER BY id DESC LIMIT $3
  ) x
) failed ORDER BY at DESC LIMIT $4;
EXECUTE s ('50', '{q,q,q,q,q,q,q,q}', '50', '50');
DEALLOCATE s;

PREPARE s (uuid, bigint, bigint) AS
SELECT * FROM (
  SELECT *, octet_length(payload) AS size,
    sum(octet_length(payload)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS total
  FROM (SELECT id, kind, queue, version, priority, attempts, created_at, NULL::timestamptz AS run_at, died_at, unique_key,
  false AS parked, payload, failures
FROM dead_jobs WHERE id > ($1) ORDER BY id LIMIT $2) AS page
) AS bounded WHERE total <= $3 OR total = size ORDER BY id;
EXECUTE s ('00000000-0000-0000-0000-000000000000', '5000', '4194304');
DEALLOCATE s;

PREPARE s (uuid) AS
SELECT id, kind, queue, state, priority, attempts, created_at, NULL::timestamptz AS run_at, NULL::timestamptz AS died_at,
ended_at, unique_key, failures->-1->>'error' AS error, version, payload, failures, trace FROM ended_jobs WHERE id = $1;
EXECUTE s ('00000000-0000-7000-8000-000000000001');
DEALLOCATE s;

PREPARE s (uuid[]) AS
SELECT count(*) FROM ended_jobs WHERE id = ANY($1) AND state = 'cancelled';
EXECUTE s ('{00000000-0000-7000-8000-000000000001}');
DEALLOCATE s;

PREPARE s (integer, bigint) AS
DELETE FROM ended_jobs WHERE id IN (
  SELECT id FROM ended_jobs WHERE ended_at < now() - make_interval(days => $1)
  ORDER BY ended_at LIMIT $2);
EXECUTE s ('3', '2000');
DEALLOCATE s;

PREPARE s (text, timestamp with time zone, uuid, timestamp with time zone, timestamp with time zone, uuid, text, text, text, text, bigint) AS
SELECT id, kind, queue, state, priority, attempts, created_at, NULL::timestamptz AS run_at, NULL::timestamptz AS died_at,
ended_at, unique_key, failures->-1->>'error' AS error, ended_at AS place,
  NULL::text AS sought
FROM ended_jobs
WHERE state = $1 AND (ended_at, id) < ($2, $3) AND ended_at >= $4 AND (ended_at, id) >= ($5, $6)
  AND ($7 IS NULL OR kind = $8) AND ($9 IS NULL OR queue = $10) AND true
ORDER BY ended_at DESC, id DESC LIMIT $11;
EXECUTE s ('deleted', 'infinity', '00000000-0000-0000-0000-000000000000', '-infinity', '-infinity', '00000000-0000-0000-0000-000000000000', NULL, NULL, NULL, NULL, '6');
DEALLOCATE s;

PREPARE s (text, uuid[]) AS
INSERT INTO job_cancellations (id, queue)
SELECT id, $1 FROM unnest($2) AS told (id) ORDER BY id
ON CONFLICT DO NOTHING;
EXECUTE s ('q', '{00000000-0000-7000-8000-000000000001}');
DEALLOCATE s;

PREPARE s (uuid[]) AS
DELETE FROM job_cancellations WHERE id = ANY($1);
EXECUTE s ('{00000000-0000-7000-8000-000000000001}');
DEALLOCATE s;

PREPARE s (uuid) AS
DELETE FROM job_cancellations WHERE id = $1;
EXECUTE s ('00000000-0000-7000-8000-000000000001');
DEALLOCATE s;

PREPARE s AS
DELETE FROM job_cancellations WHERE asked_at < now() - interval '1 hour';
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT served->>'queue', count(*), sum((served->>'slots')::bigint)::bigint
FROM workers, jsonb_array_elements(queues) AS served
WHERE seen_at > now() - interval '10 seconds' AND state <> 'stopping' GROUP BY 1;
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT job->>'queue', to_timestamp(min((job->>'since')::bigint) / 1000.0)
FROM workers, jsonb_array_elements(running) AS job WHERE seen_at > now() - interval '10 seconds' GROUP BY 1;
EXECUTE s;
DEALLOCATE s;

PREPARE s (text, text, integer, text, numeric, text, jsonb, jsonb, jsonb, double precision, double precision, text[], text[]) AS
WITH seen AS (
  INSERT INTO workers (name, host, pid, version, started_at, state, queues, running, connections)
  VALUES ($1, $2, $3, $4,
    to_timestamp($5 / 1000.0), $6, $7,
    $8, $9)
  ON CONFLICT (name) DO UPDATE
    SET seen_at = now(), state = excluded.state, queues = excluded.queues, running = excluded.running,
      connections = excluded.connections
  RETURNING orders
)
SELECT (SELECT count(pg_terminate_backend(a.pid)) FROM workers w
  JOIN pg_stat_activity a ON a.application_name = left(w.name, 63) AND a.usename = current_user
    AND a.datname = current_database() AND a.xact_start < now() - make_interval(secs =>$10) WHERE w.seen_at < now() - make_interval(secs => $11)), (SELECT orders FROM seen), ARRAY(SELECT queue FROM queue_pauses WHERE queue = ANY($12)),
  ARRAY(SELECT id FROM job_cancellations WHERE queue = ANY($13) LIMIT 10000);
EXECUTE s ('w', 'h', '1', 'v', '0', 'running', '[{"queue": "fanout", "slots": 1}]', '[]', NULL, '3.5', '3.5', '{q}', '{q}');
DEALLOCATE s;

PREPARE s (text) AS
DELETE FROM workers WHERE name = $1;
EXECUTE s ('w');
DEALLOCATE s;

PREPARE s (text) AS
SELECT to_timestamp((run->>'since')::bigint / 1000.0), (run->>'attempt')::bigint, name
FROM workers, jsonb_array_elements(running) AS run
WHERE run->>'id' = $1 AND seen_at > now() - interval '10 seconds';
EXECUTE s ('00000000-0000-7000-8000-000000000001');
DEALLOCATE s;

PREPARE s AS
SELECT (run->>'id')::uuid, run->>'queue' FROM workers, jsonb_array_elements(running) AS run
WHERE seen_at > now() - interval '10 seconds';
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT DISTINCT served->>'queue' FROM workers, jsonb_array_elements(queues) AS served
WHERE seen_at > now() - interval '10 seconds';
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT run->>'queue', (extract(epoch FROM now()) - min((run->>'since')::bigint) / 1000.0)::float8
FROM workers, jsonb_array_elements(running) AS run WHERE seen_at > now() - interval '10 seconds' GROUP BY 1;
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT name, host, pid, version, started_at, seen_at,
  CASE WHEN seen_at > now() - interval '10 seconds' THEN state ELSE 'lost' END, orders, queues, running
FROM workers WHERE seen_at > now() - interval '1 hour' ORDER BY name;
EXECUTE s;
DEALLOCATE s;

PREPARE s (bigint, text, bigint, bigint[], text[], text[], bigint[], bigint[], bigint[], bigint[], bigint[]) AS
WITH fresh AS (
  UPDATE workers SET counted = $1 WHERE name = $2 AND counted < $3 RETURNING name
) , new AS MATERIALIZED (
  SELECT to_timestamp(minute / 1000.0) AS minute, queue, kind, completed, failed, dead, run_ms, wait_ms FROM unnest($4, $5, $6, $7, $8, $9, $10, $11) AS told (minute, queue, kind, completed, failed, dead, run_ms, wait_ms) WHERE EXISTS (SELECT FROM fresh)), counted AS (
  INSERT INTO job_minutes AS old (minute, queue, kind, completed, failed, dead, run_ms, wait_ms)
  SELECT * FROM new ORDER BY minute, queue, kind ON CONFLICT (minute, queue, kind) DO UPDATE SET completed = old.completed + excluded.completed, failed = old.failed + excluded.failed,
  dead = old.dead + excluded.dead, run_ms = old.run_ms + excluded.run_ms, wait_ms = old.wait_ms + excluded.wait_ms)
, counted_by_hour AS (
  INSERT INTO job_hours AS old (hour, queue, kind, completed, failed, dead, run_ms, wait_ms)
  SELECT date_trunc('hour', minute, 'UTC') AS hour, queue, kind, sum(completed), sum(failed), sum(dead), sum(run_ms), sum(wait_ms)
  FROM new GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 ON CONFLICT (hour, queue, kind) DO UPDATE SET completed = old.completed + excluded.completed, failed = old.failed + excluded.failed,
  dead = old.dead + excluded.dead, run_ms = old.run_ms + excluded.run_ms, wait_ms = old.wait_ms + excluded.wait_ms) SELECT 1;
EXECUTE s ('1', 'w', '1', '{1795521300000,1795521300000,1795521300000}', '{q,q,q}', '{x,y,z}', '{3,3,3}', '{1,1,1}', '{0,0,0}', '{8000,8000,8000}', '{2000,2000,2000}');
DEALLOCATE s;

PREPARE s (text, text, text) AS
UPDATE workers SET orders = CASE WHEN orders = 'stop' THEN orders ELSE $1 END
WHERE seen_at > now() - interval '10 seconds' AND ($2 IS NULL OR name = $3) RETURNING name;
EXECUTE s ('quiet', NULL, NULL);
DEALLOCATE s;

PREPARE s AS
DELETE FROM workers
WHERE seen_at < now() - interval '1 hour' AND counted = 0 OR seen_at < now() - interval '9 days';
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT name, (SELECT coalesce(sum((queue->>'slots')::bigint), 0)::bigint FROM jsonb_array_elements(queues) AS queue),
  (connections->>'pool')::bigint, (connections->>'most')::bigint, (connections->>'jobs')::bigint
FROM workers WHERE connections IS NOT NULL AND seen_at > now() - interval '10 seconds' ORDER BY name;
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT current_setting('max_connections')::bigint,
  current_setting('superuser_reserved_connections')::bigint
    + coalesce(nullif(current_setting('reserved_connections', true), ''), '0')::bigint,
  (SELECT count(*) FROM pg_stat_activity AS session
    WHERE datid IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend'
      AND NOT EXISTS (
        SELECT FROM workers
        WHERE connections IS NOT NULL AND seen_at > now() - interval '10 seconds'
          AND session.application_name = left(name, 63)));
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT name FROM workers
WHERE seen_at > now() - interval '1 hour' AND NOT (seen_at > now() - interval '10 seconds')
ORDER BY seen_at DESC;
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT name FROM workers;
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT queue FROM queue_pauses;
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT queue, paused_at, paused_by FROM queue_pauses;
EXECUTE s;
DEALLOCATE s;

PREPARE s (text, text) AS
INSERT INTO queue_pauses (queue, paused_by) VALUES ($1, $2) ON CONFLICT DO NOTHING;
EXECUTE s ('q', 'tester');
DEALLOCATE s;

PREPARE s (text) AS
DELETE FROM queue_pauses WHERE queue = $1;
EXECUTE s ('q');
DEALLOCATE s;

PREPARE s AS
SELECT queue, paused_at, paused_by FROM queue_pauses ORDER BY paused_at;
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT queue, extract(epoch FROM minute)::bigint, sum(completed + failed + dead)::bigint, sum(run_ms) / 1000
FROM job_minutes WHERE minute > now() - interval '3 minutes' GROUP BY queue, minute;
EXECUTE s;
DEALLOCATE s;

PREPARE s (timestamp with time zone, text) AS
SELECT queue, kind, coalesce(sum(completed), 0)::bigint, coalesce(sum(failed), 0)::bigint, coalesce(sum(dead), 0)::bigint,
coalesce(sum(run_ms), 0), coalesce(sum(wait_ms), 0) FROM job_minutes
WHERE minute >= $1 AND queue = $2 GROUP BY 1, 2 ORDER BY 1, 2;
EXECUTE s ('2026-11-24 10:56:00+00', 'q');
DEALLOCATE s;

PREPARE s (timestamp with time zone, text) AS
SELECT coalesce(sum(completed), 0)::bigint, coalesce(sum(failed), 0)::bigint, coalesce(sum(dead), 0)::bigint,
coalesce(sum(run_ms), 0), coalesce(sum(wait_ms), 0) FROM job_minutes
WHERE minute >= $1  AND kind = $2;
EXECUTE s ('2026-11-24 10:56:00+00', 'x');
DEALLOCATE s;

PREPARE s (numeric, timestamp with time zone) AS
SELECT floor(extract(epoch FROM minute) / $1)::bigint, coalesce(sum(completed), 0)::bigint, coalesce(sum(failed), 0)::bigint, coalesce(sum(dead), 0)::bigint,
coalesce(sum(run_ms), 0), coalesce(sum(wait_ms), 0)
FROM job_minutes WHERE minute >= $2  GROUP BY 1;
EXECUTE s ('60', '2026-09-21 13:16:00+00');
DEALLOCATE s;

PREPARE s (bigint) AS
DELETE FROM job_minutes WHERE (minute, queue, kind) IN (
  SELECT minute, queue, kind FROM job_minutes WHERE minute < now() - interval '2 days'
  ORDER BY minute LIMIT $1);
EXECUTE s ('2000');
DEALLOCATE s;

PREPARE s (timestamp with time zone) AS
SELECT queue, kind, coalesce(sum(completed), 0)::bigint, coalesce(sum(failed), 0)::bigint, coalesce(sum(dead), 0)::bigint,
coalesce(sum(run_ms), 0), coalesce(sum(wait_ms), 0) FROM job_minutes
WHERE minute >= $1  GROUP BY 1, 2 ORDER BY 1, 2;
EXECUTE s ('2026-11-24 10:56:00+00');
DEALLOCATE s;

PREPARE s (timestamp with time zone) AS
SELECT queue, sum(completed)::bigint, (sum(failed) + sum(dead))::bigint, sum(run_ms) FROM job_minutes
WHERE minute >= $1 GROUP BY queue;
EXECUTE s ('2026-11-24 11:58:00+00');
DEALLOCATE s;

PREPARE s (numeric, timestamp with time zone, text) AS
SELECT floor(extract(epoch FROM minute) / $1)::bigint, coalesce(sum(completed), 0)::bigint, coalesce(sum(failed), 0)::bigint, coalesce(sum(dead), 0)::bigint,
coalesce(sum(run_ms), 0), coalesce(sum(wait_ms), 0)
FROM job_minutes WHERE minute >= $2  AND kind = $3 GROUP BY 1;
EXECUTE s ('60', '2026-11-24 11:00:00+00', 'feed.partitions');
DEALLOCATE s;

PREPARE s (numeric, timestamp with time zone, text) AS
SELECT floor(extract(epoch FROM minute) / $1)::bigint, coalesce(sum(completed), 0)::bigint, coalesce(sum(failed), 0)::bigint, coalesce(sum(dead), 0)::bigint,
coalesce(sum(run_ms), 0), coalesce(sum(wait_ms), 0)
FROM job_minutes WHERE minute >= $2 AND queue = $3 GROUP BY 1;
EXECUTE s ('60', '2026-11-24 11:12:00+00', 'q');
DEALLOCATE s;

PREPARE s (timestamp with time zone, text) AS
SELECT coalesce(sum(completed), 0)::bigint, coalesce(sum(failed), 0)::bigint, coalesce(sum(dead), 0)::bigint,
coalesce(sum(run_ms), 0), coalesce(sum(wait_ms), 0) FROM job_hours
WHERE hour >= $1  AND kind = $2;
EXECUTE s ('2026-11-17 12:00:00+00', 'x');
DEALLOCATE s;

PREPARE s (numeric, timestamp with time zone) AS
SELECT floor(extract(epoch FROM hour) / $1)::bigint, coalesce(sum(completed), 0)::bigint, coalesce(sum(failed), 0)::bigint, coalesce(sum(dead), 0)::bigint,
coalesce(sum(run_ms), 0), coalesce(sum(wait_ms), 0)
FROM job_hours WHERE hour >= $2  GROUP BY 1;
EXECUTE s ('7200', '2026-09-14 16:00:00+00');
DEALLOCATE s;

PREPARE s (bigint) AS
DELETE FROM job_hours WHERE (hour, queue, kind) IN (
  SELECT hour, queue, kind FROM job_hours WHERE hour < now() - interval '8 days' ORDER BY hour LIMIT $1);
EXECUTE s ('2000');
DEALLOCATE s;

PREPARE s (bigint, bigint) AS
SELECT id, at, actor, role, action, subject, detail FROM actions WHERE id < $1
ORDER BY id DESC LIMIT $2;
EXECUTE s ('4', '2');
DEALLOCATE s;

PREPARE s (text, text, text, text, jsonb) AS
INSERT INTO actions (actor, role, action, subject, detail)
VALUES ($1, $2, $3, $4, $5);
EXECUTE s ('tester', 'full', 'jobs.cancel', '00000000-0000-7000-8000-000000000001', NULL);
DEALLOCATE s;

PREPARE s (text, bigint, bigint) AS
SELECT id, at, actor, role, action, subject, detail FROM actions
WHERE subject = $1 AND id < $2 ORDER BY id DESC LIMIT $3;
EXECUTE s ('00000000-0000-7000-8000-000000000001', '9223372036854775807', '51');
DEALLOCATE s;

PREPARE s (text) AS
SELECT at, action, actor FROM actions WHERE subject = $1 ORDER BY id DESC LIMIT 100;
EXECUTE s ('00000000-0000-7000-8000-000000000001');
DEALLOCATE s;

PREPARE s (text) AS
SELECT at, detail->>'kind', detail->>'queue' FROM actions
WHERE subject = $1 AND action = 'jobs.enqueue' LIMIT 1;
EXECUTE s ('00000000-0000-7000-8000-000000000001');
DEALLOCATE s;

PREPARE s (bigint, integer) AS
DELETE FROM actions WHERE id IN (SELECT id FROM actions ORDER BY id LIMIT $1)
  AND at < now() - make_interval(days => $2);
EXECUTE s ('2000', '3');
DEALLOCATE s;

PREPARE s (bigint, bigint) AS
DELETE FROM actions WHERE id IN (
  SELECT id FROM actions WHERE id <= (SELECT id FROM actions ORDER BY id DESC OFFSET $1 LIMIT 1)
  ORDER BY id LIMIT $2);
EXECUTE s ('30', '2000');
DEALLOCATE s;

PREPARE s (text, text, text, boolean, numeric, numeric, numeric) AS
INSERT INTO schedules (name, timing, kind, paused, decided_until, last_tick, next_tick)
VALUES ($1, $2, $3, $4,
  to_timestamp($5 / 1000.0), to_timestamp($6 / 1000.0),
  to_timestamp($7 / 1000.0))
ON CONFLICT DO NOTHING;
EXECUTE s ('gone', 'every 1s', 'test.gone', 'f', '1767225600000', NULL, NULL);
DEALLOCATE s;

PREPARE s (text) AS
SELECT name, timing, kind, paused, (extract(epoch FROM decided_until) * 1000)::bigint,
(extract(epoch FROM last_tick) * 1000)::bigint, (extract(epoch FROM next_tick) * 1000)::bigint FROM schedules WHERE name = $1 FOR UPDATE;
EXECUTE s ('gone');
DEALLOCATE s;

PREPARE s AS
SELECT name, timing, kind, paused, (extract(epoch FROM decided_until) * 1000)::bigint,
(extract(epoch FROM last_tick) * 1000)::bigint, (extract(epoch FROM next_tick) * 1000)::bigint FROM schedules ORDER BY name;
EXECUTE s;
DEALLOCATE s;

PREPARE s (text, text, boolean, numeric, numeric, numeric, text) AS
UPDATE schedules SET timing = $1, kind = $2, paused = $3,
  decided_until = to_timestamp($4 / 1000.0),
  last_tick = to_timestamp($5 / 1000.0), next_tick = to_timestamp($6 / 1000.0)
WHERE name = $7;
EXECUTE s ('every 1s', 'test.gone', 't', '1767225600000', NULL, NULL, 'gone');
DEALLOCATE s;

PREPARE s AS
SELECT name FROM schedules WHERE NOT paused AND next_tick < now() - interval '1 minute' ORDER BY next_tick;
EXECUTE s;
DEALLOCATE s;

PREPARE s (text, text, text, bigint, bigint) AS
DELETE FROM schedule_ticks WHERE schedule = $1 AND tick IN (
  SELECT tick FROM schedule_ticks WHERE schedule = $2 AND tick < (
    SELECT min(tick) FROM (
      SELECT tick FROM schedule_ticks WHERE schedule = $3 ORDER BY tick DESC LIMIT $4
    ) AS kept)
  ORDER BY tick LIMIT $5);
EXECUTE s ('s', 's', 's', '5', '10');
DEALLOCATE s;

PREPARE s (text, bigint[], uuid[]) AS
INSERT INTO schedule_ticks (schedule, tick, job_id)
SELECT $1, to_timestamp(tick / 1000.0), job
FROM unnest($2, $3) AS new (tick, job)
ON CONFLICT DO NOTHING
RETURNING (extract(epoch FROM tick) * 1000)::bigint;
EXECUTE s ('s', '{5000}', '{00000000-0000-7000-8000-000000000001}');
DEALLOCATE s;

PREPARE s (text, bigint) AS
SELECT (extract(epoch FROM tick) * 1000)::bigint, job_id FROM schedule_ticks
WHERE schedule = $1 ORDER BY tick DESC LIMIT $2;
EXECUTE s ('s', '10');
DEALLOCATE s;

PREPARE s AS
SELECT DISTINCT queue FROM alarms WHERE closed_at IS NULL;
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT id, queue, what, limit_seconds, seconds, opened_at, closed_at FROM alarms WHERE closed_at IS NULL ORDER BY queue, what;
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT id, queue, what, limit_seconds, seconds, opened_at, closed_at, opening_told FROM alarms
WHERE NOT (opening_told AND closing_told) AND (NOT opening_told OR closed_at IS NOT NULL)
ORDER BY opened_at, id LIMIT 1;
EXECUTE s;
DEALLOCATE s;

PREPARE s (timestamp with time zone) AS
DELETE FROM alarms WHERE closed_at < $1;
EXECUTE s ('2026-01-01 00:00:01+00');
DEALLOCATE s;

PREPARE s (uuid, text, text, double precision, double precision, timestamp with time zone, boolean, boolean) AS
INSERT INTO alarms (id, queue, what, limit_seconds, seconds, opened_at, opening_told, closing_told)
VALUES ($1, $2, $3, $4, $5,
  $6, $7, $8)
ON CONFLICT (queue, what) WHERE closed_at IS NULL DO NOTHING;
EXECUTE s ('00000000-0000-7000-8000-000000000003', 'q', 'waiting', '10', '99', '2026-01-01 00:00:00+00', 't', 't');
DEALLOCATE s;

PREPARE s (timestamp with time zone, uuid) AS
UPDATE alarms SET closed_at = $1 WHERE id = $2 AND closed_at IS NULL;
EXECUTE s ('2026-01-01 00:00:01+00', '00000000-0000-7000-8000-000000000001');
DEALLOCATE s;

PREPARE s (uuid) AS
UPDATE alarms SET opening_told = true WHERE id = $1;
EXECUTE s ('00000000-0000-7000-8000-000000000001');
DEALLOCATE s;

PREPARE s (uuid) AS
UPDATE alarms SET closing_told = true WHERE id = $1;
EXECUTE s ('00000000-0000-7000-8000-000000000001');
DEALLOCATE s;

PREPARE s (timestamp with time zone, jsonb) AS
INSERT INTO stack_samples (sampled_at, sample) VALUES ($1, $2)
ON CONFLICT (id) DO UPDATE SET sampled_at = excluded.sampled_at, sample = excluded.sample
WHERE stack_samples.sampled_at < excluded.sampled_at;
EXECUTE s ('1970-01-01 00:16:40+00', '{"at": -978306200, "queues": []}');
DEALLOCATE s;

PREPARE s AS
SELECT sample FROM stack_samples;
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
DELETE FROM process_clocks WHERE seen_at < now() - interval '1 day';
EXECUTE s;
DEALLOCATE s;

PREPARE s AS
SELECT program, host, ahead_ms FROM process_clocks
WHERE seen_at > now() - interval '1 minute' ORDER BY abs(ahead_ms) DESC, process;
EXECUTE s;
DEALLOCATE s;

PREPARE s (text, text, text, bigint) AS
INSERT INTO process_clocks (process, program, host, ahead_ms) VALUES ($1, $2, $3, $4)
ON CONFLICT (process) DO UPDATE SET ahead_ms = excluded.ahead_ms, seen_at = now();
EXECUTE s ('p', 'fanmill-worker', 'host', '-7000');
DEALLOCATE s;

PREPARE s (text) AS
DELETE FROM process_clocks WHERE process = $1;
EXECUTE s ('p');
DEALLOCATE s;
