-- How many connections to this server a worker has, as it says of itself: {pool, most}. Null where it does not say.
ALTER TABLE workers ADD COLUMN connections jsonb;

-- down

ALTER TABLE workers DROP COLUMN connections;
