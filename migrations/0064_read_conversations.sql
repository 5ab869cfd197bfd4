-- An account's conversations in the order in which they were read, for its open event streams: each message asks for
-- those that were read since the last one.

CREATE INDEX conversations_read ON conversations (owner_id, read_version) WHERE read_version > 0;

-- down

DROP INDEX conversations_read;
