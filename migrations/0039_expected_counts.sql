-- The audit of counts reads the jobs that wait to be counted where they are now.
DO $$
BEGIN
  EXECUTE replace(replace(pg_get_functiondef('expected_counts(date)'::regprocedure),
    ' FROM jobs ', ' FROM jobs.jobs '), ' FROM dead_jobs ', ' FROM jobs.dead_jobs ');
END $$;

-- down

DO $$
BEGIN
  EXECUTE replace(replace(pg_get_functiondef('expected_counts(date)'::regprocedure),
    ' FROM jobs.jobs ', ' FROM jobs '), ' FROM jobs.dead_jobs ', ' FROM dead_jobs ');
END $$;
