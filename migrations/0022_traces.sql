-- What each job follows from: the trace id of the request or the tick (W3C Trace Context), whose 16 bytes a uuid has. Nullable and
-- without a default, so that the columns are there at once however many rows there are.
ALTER TABLE jobs ADD COLUMN trace uuid;
ALTER TABLE dead_jobs ADD COLUMN trace uuid;

-- down

ALTER TABLE dead_jobs DROP COLUMN trace;
ALTER TABLE jobs DROP COLUMN trace;
