-- The queue's tables are in a schema of their own from here on, `jobs`, which the queue's own versions keep. `fanmill migrate up`
-- makes it before this file, moves the tables that earlier files made into it, and leaves views under their old names for
-- as long as programs of the version before may run. This file sees to it that they are there, and undoes it.
SELECT 'jobs.schema_versions'::regclass, 'jobs.jobs'::regclass;

-- down

DO $$
DECLARE
  name text;
BEGIN
  IF (SELECT max(version) FROM jobs.schema_versions) > 1 THEN
    RAISE EXCEPTION 'the queue''s schema is past version 1, which alone can be undone';
  END IF;
  FOREACH name IN ARRAY ARRAY[
    'jobs', 'dead_jobs', 'ended_jobs', 'job_cancellations', 'workers', 'queue_pauses', 'job_minutes', 'job_hours', 'actions',
    'schedules', 'schedule_ticks', 'alarms', 'stack_samples', 'process_clocks']
  LOOP
    EXECUTE format('DROP VIEW %I', name);
    EXECUTE format('ALTER TABLE jobs.%I SET SCHEMA %I', name, current_schema());
  END LOOP;
  DROP TABLE jobs.schema_versions;
END $$;
