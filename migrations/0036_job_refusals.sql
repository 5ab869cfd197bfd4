-- Why the broker cannot take an owed job, which somebody else than the queue's own program has written: the relay says it here,
-- leaves the job where it is and goes on. Null for all that is sound. Whoever mends the row sets it to null.
ALTER TABLE jobs ADD COLUMN refusal text;

-- For the doctor. Without refusals it is empty and costs nothing.
CREATE INDEX jobs_refused ON jobs (queue, id) WHERE refusal IS NOT NULL;

-- down

DROP INDEX jobs_refused;
ALTER TABLE jobs DROP COLUMN refusal;
