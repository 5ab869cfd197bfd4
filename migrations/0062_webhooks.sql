-- Webhooks: events of the app, sent to other servers.
--
-- The transaction that causes an event writes it to `webhook_events`, but only while a hook asks for its type: without
-- hooks, `webhooks` is empty and nothing is written. The job `webhooks.dispatch` gives each hook its deliveries, one
-- dispatch at a time and in the order of the events' ids. Ids are assigned after the lock that serializes changes of a
-- subject, so for one subject that is the order of commits.
--
-- A line is what waits for one hook about one subject. At most one job delivers it, the one in `job_id`: any other
-- finds itself replaced and does nothing. A job sends the line's oldest event once. A hook has few jobs at a time,
-- however many lines it has, so a receiver that is slow or down takes few of a worker's slots. Whatever
-- changes a hook's lines holds the lock on the hook's row, so no line is left without a job.

CREATE TABLE webhooks (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2000),
  events text[] NOT NULL CHECK (cardinality(events) > 0),
  -- A paused hook collects events; a disabled one does not.
  state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'disabled')),
  -- Why it is not active.
  reason text CHECK (length(reason) <= 500),
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Sealed with a key of the settings.
  secret bytea NOT NULL,
  -- The secret before, while both sign.
  former_secret bytea,
  former_until timestamptz,
  -- Failed attempts since the last delivery, and since when.
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  delivered_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK ((former_secret IS NULL) = (former_until IS NULL)),
  CHECK ((failures = 0) = (failing_since IS NULL)),
  CHECK ((state = 'active') = (reason IS NULL))
);

CREATE TABLE webhook_events (
  id bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY,
  type text NOT NULL,
  subject text NOT NULL,
  data jsonb NOT NULL,
  -- The accounts that the data shows; 0 for none, and once they are deleted.
  account_id bigint NOT NULL DEFAULT 0,
  other_id bigint NOT NULL DEFAULT 0,
  -- The only hook that gets it; null for every hook that asks for its type.
  hook_id bigint REFERENCES webhooks ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  is_dispatched boolean NOT NULL DEFAULT false
);

CREATE INDEX webhook_events_waiting ON webhook_events (id) WHERE NOT is_dispatched;
CREATE INDEX webhook_events_by_age ON webhook_events (created_at);
CREATE INDEX webhook_events_of_account ON webhook_events (account_id) WHERE account_id <> 0;
CREATE INDEX webhook_events_of_other ON webhook_events (other_id) WHERE other_id <> 0;
CREATE INDEX webhook_events_of_hook ON webhook_events (hook_id) WHERE hook_id IS NOT NULL;

CREATE TABLE webhook_deliveries (
  hook_id bigint NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  event_id bigint NOT NULL REFERENCES webhook_events ON DELETE CASCADE,
  subject text NOT NULL,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
  attempts integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  ended_at timestamptz,
  -- Of the last attempt: the response's status, and the start of its body, or why there was no response.
  status integer,
  answer text CHECK (length(answer) <= 1024),
  milliseconds integer,
  PRIMARY KEY (hook_id, event_id),
  CHECK ((state = 'waiting') = (ended_at IS NULL))
);

CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (hook_id, subject, event_id) WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_of_event ON webhook_deliveries (event_id);

CREATE TABLE webhook_lines (
  hook_id bigint NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  subject text NOT NULL,
  -- The oldest event that waits.
  first_event bigint NOT NULL,
  -- The job that delivers it; null while the line waits for one.
  job_id uuid,
  failing_since timestamptz,
  PRIMARY KEY (hook_id, subject)
);

CREATE INDEX webhook_lines_by_age ON webhook_lines (hook_id, first_event);
CREATE INDEX webhook_lines_busy ON webhook_lines (hook_id) WHERE job_id IS NOT NULL;

CREATE FUNCTION webhook_time(moment timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- An account, as the API shows it beside a post; null if it is deleted.
CREATE FUNCTION webhook_account(account bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object(
    'id', id, 'username', username, 'name', name, 'major', major,
    'avatar', coalesce('/media/' || avatar_media || '/thumb', avatar))
  FROM accounts WHERE id = account
$$;

CREATE FUNCTION webhook_post(post posts) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object(
    'id', post.id, 'author', webhook_account(post.author_id), 'title', post.title, 'description', post.description,
    'media', to_jsonb(post.media), 'createdAt', webhook_time(post.created_at),
    'editedAt', webhook_time(post.edited_at))
$$;

-- Writes an event, and enqueues its dispatch, if a hook asks for its type. Returns whether one does. The commit notifies,
-- and so waits for others that do: not for what happens often.
CREATE FUNCTION note_webhook_event(
  of_type text, of_subject text, shown jsonb, account bigint DEFAULT 0, other bigint DEFAULT 0
) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM webhooks WHERE state <> 'disabled' AND of_type = ANY (events)) THEN
    RETURN false;
  END IF;
  INSERT INTO webhook_events (type, subject, data, account_id, other_id)
    VALUES (of_type, of_subject, shown, account, other);
  PERFORM jobs.enqueue('webhooks.dispatch', '{}', 'webhooks', priority => 'high');
  RETURN true;
END $$;

-- Gives hooks their deliveries of the oldest events.
--
-- Returns how many events it took.
CREATE FUNCTION dispatch_webhook_events(most integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  batch bigint[];
BEGIN
  -- A later dispatch sees all that an earlier one did, so no event overtakes another.
  PERFORM pg_advisory_xact_lock(hashtextextended('fanmill.webhooks', 0));
  batch := ARRAY(SELECT id FROM webhook_events WHERE NOT is_dispatched ORDER BY id LIMIT most);
  IF cardinality(batch) = 0 THEN
    RETURN 0;
  END IF;
  PERFORM FROM webhooks WHERE state <> 'disabled' ORDER BY id FOR NO KEY UPDATE;
  INSERT INTO webhook_deliveries (hook_id, event_id, subject)
    SELECT h.id, e.id, e.subject FROM webhook_events e
    JOIN webhooks h ON h.state <> 'disabled'
      AND CASE WHEN e.hook_id IS NULL THEN e.type = ANY (h.events) ELSE e.hook_id = h.id END
    WHERE e.id = ANY (batch) ORDER BY h.id, e.id;
  INSERT INTO webhook_lines (hook_id, subject, first_event)
    SELECT hook_id, subject, min(event_id) FROM webhook_deliveries WHERE event_id = ANY (batch)
    GROUP BY hook_id, subject
    ON CONFLICT DO NOTHING;
  UPDATE webhook_events SET is_dispatched = true WHERE id = ANY (batch);
  RETURN cardinality(batch);
END $$;

-- The lines of a hook that are to get a job now, the one with the oldest event first. The caller holds the hook's lock.
--
-- Four at a time, so that one receiver does not take a worker's slots. Lines whose attempts fail do not count, up to
-- sixteen in all, so that a bad event does not stop the others. After three failures in a row, other lines are tried one
-- by one.
CREATE FUNCTION next_webhook_lines(hook bigint) RETURNS SETOF text
LANGUAGE sql STABLE AS $$
  SELECT l.subject FROM webhook_lines l WHERE l.hook_id = hook AND l.job_id IS NULL ORDER BY l.first_event
  LIMIT (
    SELECT greatest(0, CASE
        WHEN h.state <> 'active' THEN 0
        WHEN h.failures >= 3 THEN least(1 - busy.sound, 16 - busy.lines)
        ELSE least(4 - busy.sound, 16 - busy.lines) END)
    FROM webhooks h, (
      SELECT count(*) AS lines, count(*) FILTER (WHERE failing_since IS NULL) AS sound
      FROM webhook_lines b WHERE b.hook_id = hook AND b.job_id IS NOT NULL
    ) busy WHERE h.id = hook)
$$;

-- Takes the job from a line, which waits for another, or ends if nothing waits in it.
CREATE FUNCTION free_webhook_line(hook bigint, of_subject text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  oldest bigint;
BEGIN
  SELECT min(event_id) INTO oldest FROM webhook_deliveries
    WHERE hook_id = hook AND subject = of_subject AND state = 'waiting';
  IF oldest IS NULL THEN
    DELETE FROM webhook_lines WHERE hook_id = hook AND subject = of_subject;
  ELSE
    UPDATE webhook_lines SET job_id = NULL, failing_since = NULL, first_event = oldest
      WHERE hook_id = hook AND subject = of_subject;
  END IF;
END $$;

-- Records an attempt of the line's job. Its outcome is 'delivered', 'refused', or 'disabled' if the receiver wants no
-- more.
--
-- Returns what follows: 'retry', 'delivered', 'failed' (the event, for a day), 'paused' (the hook, for the same
-- reason), 'disabled', or 'replaced' if the line is no longer this job's and nothing was recorded. The number is of
-- attempts at this event.
CREATE FUNCTION end_webhook_attempt(
  hook bigint, of_subject text, job uuid, event bigint, outcome text, answered integer, said text, took integer,
  moment timestamptz, patience interval, OUT next text, OUT attempt integer
)
LANGUAGE plpgsql AS $$
DECLARE
  known webhooks;
  tried webhook_deliveries;
BEGIN
  attempt := 0;
  SELECT * INTO known FROM webhooks WHERE id = hook FOR NO KEY UPDATE;
  IF NOT FOUND OR NOT EXISTS (
    SELECT FROM webhook_lines WHERE hook_id = hook AND subject = of_subject AND job_id = job
  ) THEN
    next := 'replaced';
    RETURN;
  END IF;
  UPDATE webhook_deliveries SET attempts = attempts + 1, status = answered, answer = said, milliseconds = took,
      failing_since = CASE WHEN outcome = 'delivered' THEN NULL ELSE least(failing_since, moment) END
    WHERE hook_id = hook AND event_id = event AND state = 'waiting' RETURNING * INTO tried;
  attempt := coalesce(tried.attempts, 1);
  IF outcome = 'delivered' THEN
    UPDATE webhook_deliveries SET state = 'delivered', ended_at = moment
      WHERE hook_id = hook AND event_id = event AND state = 'waiting';
    UPDATE webhooks SET failures = 0, failing_since = NULL, delivered_at = moment WHERE id = hook;
    PERFORM free_webhook_line(hook, of_subject);
    next := 'delivered';
    RETURN;
  END IF;
  IF outcome = 'disabled' THEN
    UPDATE webhooks SET state = 'disabled', reason = 'the receiver answered 410', changed_at = moment WHERE id = hook;
    PERFORM abandon_webhook_lines(hook, moment);
    next := 'disabled';
    RETURN;
  END IF;
  -- A clock that was ahead must not postpone the end of the patience.
  UPDATE webhooks SET failures = failures + 1, failing_since = least(failing_since, moment) WHERE id = hook
    RETURNING * INTO known;
  IF known.state = 'active' AND moment - known.failing_since >= patience THEN
    UPDATE webhooks SET state = 'paused', reason = 'no delivery succeeded for a day', changed_at = moment
      WHERE id = hook;
    UPDATE webhook_lines SET job_id = NULL, failing_since = NULL WHERE hook_id = hook AND job_id IS NOT NULL;
    next := 'paused';
  ELSIF known.state <> 'active' THEN
    PERFORM free_webhook_line(hook, of_subject);
    next := 'stopped';
  ELSIF moment - tried.failing_since >= patience THEN
    UPDATE webhook_deliveries SET state = 'failed', ended_at = moment WHERE hook_id = hook AND event_id = event;
    PERFORM free_webhook_line(hook, of_subject);
    next := 'failed';
  ELSE
    UPDATE webhook_lines SET failing_since = coalesce(failing_since, moment)
      WHERE hook_id = hook AND subject = of_subject;
    next := 'retry';
  END IF;
END $$;

-- Ends the jobs of a hook, whose lock the caller holds, and gives up what waits for it: part of a large backlog, since
-- dispatches wait for the lock. The sweep gives up the rest.
--
-- Returns how many events it gave up.
CREATE FUNCTION abandon_webhook_lines(hook bigint, moment timestamptz, most integer DEFAULT 10000) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  batch bigint[];
BEGIN
  UPDATE webhook_lines SET job_id = NULL, failing_since = NULL WHERE hook_id = hook AND job_id IS NOT NULL;
  batch := ARRAY(SELECT event_id FROM webhook_deliveries WHERE hook_id = hook AND state = 'waiting'
    ORDER BY subject, event_id LIMIT most);
  UPDATE webhook_deliveries SET state = 'failed', ended_at = moment WHERE hook_id = hook AND event_id = ANY (batch);
  PERFORM free_webhook_line(hook, subject) FROM (
    SELECT DISTINCT subject FROM webhook_deliveries WHERE hook_id = hook AND event_id = ANY (batch)) given_up;
  RETURN cardinality(batch);
END $$;

-- Makes deliveries of a hook wait again: of one event, or of those from `since` on, the oldest first, of events after
-- `past` up to `until`. At most `most` at a time, since dispatches wait for the hook's lock.
--
-- Returns how many, and the last one's event if there may be more.
CREATE FUNCTION replay_webhook(
  hook bigint, event bigint, since timestamptz, only_failed boolean, past bigint, until bigint, most integer,
  OUT replayed integer, OUT last bigint
)
LANGUAGE plpgsql AS $$
DECLARE
  again bigint[];
BEGIN
  PERFORM FROM webhooks WHERE id = hook FOR NO KEY UPDATE;
  again := ARRAY(
    SELECT d.event_id FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id
    WHERE d.hook_id = hook AND d.event_id > past AND d.event_id <= until AND d.state <> 'waiting'
      AND (event IS NULL OR d.event_id = event) AND (since IS NULL OR e.created_at >= since)
      AND (NOT only_failed OR d.state = 'failed')
    ORDER BY d.event_id LIMIT most);
  UPDATE webhook_deliveries SET state = 'waiting', ended_at = NULL, attempts = 0, failing_since = NULL
    WHERE hook_id = hook AND event_id = ANY (again);
  GET DIAGNOSTICS replayed = ROW_COUNT;
  INSERT INTO webhook_lines AS l (hook_id, subject, first_event)
    SELECT hook_id, subject, min(event_id) FROM webhook_deliveries
    WHERE hook_id = hook AND event_id = ANY (again) GROUP BY hook_id, subject
    ON CONFLICT (hook_id, subject) DO UPDATE SET first_event = least(l.first_event, excluded.first_event);
  last := again[most];
END $$;

-- down

DROP FUNCTION replay_webhook(
  bigint, bigint, timestamptz, boolean, bigint, bigint, integer, OUT integer, OUT bigint);
DROP FUNCTION abandon_webhook_lines(bigint, timestamptz, integer);
DROP FUNCTION end_webhook_attempt(
  bigint, text, uuid, bigint, text, integer, text, integer, timestamptz, interval, OUT text, OUT integer);
DROP FUNCTION free_webhook_line(bigint, text);
DROP FUNCTION next_webhook_lines(bigint);
DROP FUNCTION dispatch_webhook_events(integer);
DROP FUNCTION note_webhook_event(text, text, jsonb, bigint, bigint);
DROP FUNCTION webhook_post(posts);
DROP FUNCTION webhook_account(bigint);
DROP FUNCTION webhook_time(timestamptz);
DROP TABLE webhook_lines;
DROP TABLE webhook_deliveries;
DROP TABLE webhook_events;
DROP TABLE webhooks;
