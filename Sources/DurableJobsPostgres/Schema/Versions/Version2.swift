extension JobsSchemaVersion {
  /// Jobs enqueued in SQL, limits of single jobs, the whole trace context, and two more ways to end.
  static let version2 = JobsSchemaVersion(
    number: 2, name: "enqueue",
    sql: """
      ALTER TABLE jobs
        -- The span that enqueued the job; null in rows of the last version's programs.
        ADD COLUMN trace_span bigint,
        ADD COLUMN trace_sampled boolean,
        -- Null: the kind's.
        ADD COLUMN max_attempts integer CHECK (max_attempts BETWEEN 1 AND 65535),
        ADD COLUMN timeout_ms bigint CHECK (timeout_ms > 0);

      ALTER TABLE dead_jobs
        ADD COLUMN trace_span bigint, ADD COLUMN trace_sampled boolean, ADD COLUMN max_attempts integer,
        ADD COLUMN timeout_ms bigint;

      ALTER TABLE ended_jobs
        ADD COLUMN trace_span bigint, ADD COLUMN trace_sampled boolean, ADD COLUMN max_attempts integer,
        ADD COLUMN timeout_ms bigint,
        DROP CONSTRAINT ended_jobs_state_check,
        -- It allows more than the one before, so that no row needs a check.
        ADD CONSTRAINT ended_jobs_state_check
          CHECK (state IN ('done', 'cancelled', 'deleted', 'discarded', 'replaced')) NOT VALID;

      -- Jobs that `enqueue` has added and no process has pushed. A table of its own: the relay takes rows here without
      -- locking the jobs, which workers delete.
      CREATE TABLE unpushed_jobs (
        queue text NOT NULL,
        id uuid NOT NULL,
        PRIMARY KEY (queue, id)
      ) WITH (
        autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0
      );

      -- Enqueues a job in the caller's transaction. Returns its id; null if its unique key is pending in the queue.
      CREATE FUNCTION enqueue(
        kind text, payload jsonb DEFAULT '{}', queue text DEFAULT 'default', run_at timestamptz DEFAULT NULL,
        unique_key text DEFAULT NULL, priority text DEFAULT 'normal', version integer DEFAULT 1,
        max_attempts integer DEFAULT NULL, timeout interval DEFAULT NULL, traceparent text DEFAULT NULL
      ) RETURNS uuid
      LANGUAGE plpgsql
      -- The schema of the queue, whatever the caller's is.
      SET search_path FROM CURRENT
      AS $enqueue$
      DECLARE
        rank smallint := array_position(ARRAY['high', 'normal', 'low'], enqueue.priority) - 1;
        trace text[] := regexp_match(enqueue.traceparent, '^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})');
        now_us bigint := floor(extract(epoch FROM clock_timestamp()) * 1000000);
        body text := enqueue.payload::text;
        new_id uuid;
        added uuid;
      BEGIN
        IF enqueue.kind IS NULL OR octet_length(enqueue.kind) NOT BETWEEN 1 AND 255 THEN
          RAISE invalid_parameter_value USING MESSAGE = 'a kind has 1 to 255 bytes';
        ELSIF enqueue.queue IS NULL OR enqueue.queue !~ '^[A-Za-z0-9._-]{1,64}$' THEN
          RAISE invalid_parameter_value USING
            MESSAGE = format('%L cannot be a queue''s name', enqueue.queue),
            HINT = 'Use 1 to 64 letters, digits, "-", "_" and ".".';
        ELSIF rank IS NULL THEN
          RAISE invalid_parameter_value USING
            MESSAGE = format('%L is no priority', enqueue.priority), HINT = 'Use high, normal or low.';
        ELSIF body IS NULL THEN
          RAISE invalid_parameter_value USING MESSAGE = 'a payload is not null', HINT = 'Leave it out for {}.';
        ELSIF octet_length(body) > 1048576 THEN
          RAISE invalid_parameter_value USING
            MESSAGE = format('the payload has %s bytes, and the limit is 1048576', octet_length(body)),
            HINT = 'Keep large data elsewhere and name its place.';
        ELSIF enqueue.version IS NULL OR enqueue.version NOT BETWEEN 0 AND 65534 THEN
          RAISE invalid_parameter_value USING MESSAGE = 'a payload''s version is 0 to 65534';
        ELSIF enqueue.max_attempts NOT BETWEEN 1 AND 65535 THEN
          RAISE invalid_parameter_value USING MESSAGE = 'max_attempts is 1 to 65535';
        ELSIF enqueue.timeout < interval '1 millisecond' THEN
          RAISE invalid_parameter_value USING MESSAGE = 'a timeout is 1 ms or more';
        END IF;
        -- A UUID of version 7 (RFC 9562): the milliseconds, then what is left of them in 12 bits.
        new_id := encode(
          int8send((now_us / 1000) << 16 | 28672 | (now_us % 1000) * 4096 / 1000)
            || substring(uuid_send(gen_random_uuid()) FROM 9), 'hex')::uuid;
        INSERT INTO jobs (
          queue, id, kind, version, priority, payload, run_at, unique_key, trace, trace_span, trace_sampled,
          max_attempts, timeout_ms)
        SELECT enqueue.queue, new_id, enqueue.kind, enqueue.version, rank, body, enqueue.run_at,
          enqueue.unique_key, trace[1]::uuid, ('x' || trace[2])::bit(64)::bigint,
          get_bit(decode(trace[3], 'hex'), 0) = 1, enqueue.max_attempts, extract(epoch FROM enqueue.timeout) * 1000
        -- A running job's transaction may have deleted the row with the key. Its key is not free before the commit, and
        -- there is no need to wait for it.
        WHERE enqueue.unique_key IS NULL OR NOT EXISTS (
          SELECT FROM jobs AS old WHERE old.queue = enqueue.queue AND old.unique_key = enqueue.unique_key)
        ON CONFLICT DO NOTHING
        RETURNING id INTO added;
        IF added IS NOT NULL THEN
          INSERT INTO unpushed_jobs (queue, id) VALUES (enqueue.queue, added);
          -- Delivered on commit, once for all jobs of a queue.
          PERFORM pg_notify('durablejobs', current_schema() || ' ' || enqueue.queue);
        END IF;
        RETURN added;
      END
      $enqueue$;
      """,
    undo: """
      DROP FUNCTION enqueue(text, jsonb, text, timestamptz, text, text, integer, integer, interval, text);
      DROP TABLE unpushed_jobs;
      UPDATE ended_jobs SET state = 'deleted' WHERE state IN ('discarded', 'replaced');
      ALTER TABLE ended_jobs
        DROP CONSTRAINT ended_jobs_state_check,
        ADD CONSTRAINT ended_jobs_state_check CHECK (state IN ('done', 'cancelled', 'deleted')),
        DROP COLUMN trace_span, DROP COLUMN trace_sampled, DROP COLUMN max_attempts, DROP COLUMN timeout_ms;
      ALTER TABLE dead_jobs
        DROP COLUMN trace_span, DROP COLUMN trace_sampled, DROP COLUMN max_attempts, DROP COLUMN timeout_ms;
      ALTER TABLE jobs
        DROP COLUMN trace_span, DROP COLUMN trace_sampled, DROP COLUMN max_attempts, DROP COLUMN timeout_ms;
      """)
}
