-- Agreements: two accounts meet by a code, exchange sealed messages, and seal a record. All that they write to each other, and
-- the record, is ciphertext here.

-- When the owner stated to be an adult.
ALTER TABLE accounts ADD COLUMN adult_since timestamptz;

CREATE TABLE agreement_meetings (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  host_id bigint NOT NULL,
  joiner_id bigint,
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'joined', 'sealed', 'ended')),
  -- Why it ended, where it did not just expire.
  ending text CHECK (ending IN ('guessed', 'left', 'replaced')),
  -- HMAC with a key of the settings: six digits are soon tried out.
  code_hash bytea NOT NULL,
  wrong_codes smallint NOT NULL DEFAULT 0,
  expires_at timestamptz NOT NULL,
  host_key bytea NOT NULL,
  host_commitment bytea NOT NULL,
  host_nonce bytea,
  joiner_key bytea,
  joiner_commitment bytea,
  joiner_nonce bytea,
  CHECK ((state = 'ended') = (ending IS NOT NULL)),
  CHECK (num_nonnulls(joiner_id, joiner_key, joiner_commitment) IN (0, 3)),
  CHECK (state NOT IN ('joined', 'sealed') OR joiner_id IS NOT NULL)
);

-- A host has one at a time: who joins names the host.
CREATE UNIQUE INDEX agreement_meetings_going ON agreement_meetings (host_id) WHERE state IN ('open', 'joined');
CREATE INDEX agreement_meetings_of_host ON agreement_meetings (host_id);
CREATE INDEX agreement_meetings_of_joiner ON agreement_meetings (joiner_id) WHERE joiner_id IS NOT NULL;
CREATE INDEX agreement_meetings_by_age ON agreement_meetings (expires_at);

CREATE TABLE agreement_messages (
  meeting_id bigint NOT NULL REFERENCES agreement_meetings ON DELETE CASCADE,
  is_hosts boolean NOT NULL,
  -- From 1, without gaps.
  number integer NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (meeting_id, is_hosts, number)
);

-- What one of the two has given, until the other has.
CREATE TABLE agreement_seals (
  meeting_id bigint NOT NULL REFERENCES agreement_meetings ON DELETE CASCADE,
  is_hosts boolean NOT NULL,
  hash bytea NOT NULL,
  signature bytea NOT NULL,
  expires_at timestamptz NOT NULL,
  copy bytea NOT NULL,
  PRIMARY KEY (meeting_id, is_hosts)
);

-- The id is the meeting's. 0 stands for a party whose account is gone.
CREATE TABLE agreements (
  id bigint PRIMARY KEY,
  host_id bigint NOT NULL,
  joiner_id bigint NOT NULL,
  hash bytea NOT NULL,
  host_key bytea NOT NULL,
  joiner_key bytea NOT NULL,
  host_signature bytea NOT NULL,
  joiner_signature bytea NOT NULL,
  sealed_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  withdrawn_at timestamptz,
  is_withdrawn_by_host boolean,
  CHECK ((withdrawn_at IS NULL) = (is_withdrawn_by_host IS NULL))
);

CREATE INDEX agreements_of_host ON agreements (host_id);
CREATE INDEX agreements_of_joiner ON agreements (joiner_id);

CREATE TABLE agreement_copies (
  account_id bigint NOT NULL,
  agreement_id bigint NOT NULL REFERENCES agreements ON DELETE CASCADE,
  copy bytea NOT NULL,
  PRIMARY KEY (account_id, agreement_id)
);

CREATE INDEX agreement_copies_of_agreement ON agreement_copies (agreement_id);

-- An agreement of which nobody has a copy is none.
CREATE FUNCTION drop_agreement() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  -- Of two parties that remove their copies at once, the second sees that it is the last.
  PERFORM FROM agreements WHERE id = OLD.agreement_id FOR UPDATE;
  DELETE FROM agreements g WHERE id = OLD.agreement_id
    AND NOT EXISTS (SELECT FROM agreement_copies c WHERE c.agreement_id = g.id);
  RETURN NULL;
END $$;

CREATE TRIGGER drop_agreement AFTER DELETE ON agreement_copies FOR EACH ROW EXECUTE FUNCTION drop_agreement();

CREATE TABLE agreement_backups (
  account_id bigint PRIMARY KEY,
  salt bytea NOT NULL,
  -- HMAC of the passcode's proof, with a key of the settings.
  verifier bytea NOT NULL,
  -- Sealed with a key of the settings.
  secret bytea NOT NULL,
  locked bytea NOT NULL,
  wrong_tries smallint NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Both parties are told.

ALTER TABLE live_events ADD COLUMN agreement_id bigint, DROP CONSTRAINT live_events_one,
  ADD CONSTRAINT live_events_one CHECK ((post_id IS NULL) = (comment_id IS NULL)
    AND num_nonnulls(post_id, lookup_id, celeb_id, agreement_id) = 1);

CREATE FUNCTION log_agreement() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  agreement bigint;
BEGIN
  IF TG_TABLE_NAME = 'agreement_messages' THEN
    agreement := NEW.meeting_id;
  ELSE
    agreement := NEW.id;
  END IF;
  PERFORM pg_advisory_xact_lock(live_lock());
  INSERT INTO live_events (id, agreement_id) VALUES (nextval('live_event_id_sequence'), agreement);
  PERFORM pg_notify('fanmill_live', 'k');
  RETURN NULL;
END $$;

-- Deferred, as for lookups.
CREATE CONSTRAINT TRIGGER log_meeting AFTER UPDATE OF state, host_nonce, joiner_nonce ON agreement_meetings
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION log_agreement();
CREATE CONSTRAINT TRIGGER log_message AFTER INSERT ON agreement_messages
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION log_agreement();
CREATE CONSTRAINT TRIGGER log_withdrawal AFTER UPDATE OF withdrawn_at ON agreements
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.withdrawn_at IS NULL AND NEW.withdrawn_at IS NOT NULL)
  EXECUTE FUNCTION log_agreement();

-- down

DELETE FROM live_events WHERE agreement_id IS NOT NULL;
ALTER TABLE live_events DROP CONSTRAINT live_events_one, DROP COLUMN agreement_id,
  ADD CONSTRAINT live_events_one
    CHECK ((post_id IS NULL) = (comment_id IS NULL) AND num_nonnulls(post_id, lookup_id, celeb_id) = 1);
DROP TABLE agreement_backups;
DROP TABLE agreement_copies;
DROP FUNCTION drop_agreement();
DROP TABLE agreements;
DROP TABLE agreement_seals;
DROP TABLE agreement_messages;
DROP TABLE agreement_meetings;
DROP FUNCTION log_agreement();
ALTER TABLE accounts DROP COLUMN adult_since;
