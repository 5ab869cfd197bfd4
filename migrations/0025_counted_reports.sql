-- The number of the last batch of minutes that a worker's report brought and that was added: one that is told again, because
-- its answer was lost, adds nothing.
ALTER TABLE workers ADD COLUMN counted bigint NOT NULL DEFAULT 0;

-- down

ALTER TABLE workers DROP COLUMN counted;
