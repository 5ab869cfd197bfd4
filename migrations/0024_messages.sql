-- What two accounts write to each other. Each of them has a copy of its own, so that everything an account reads lies under
-- its id, and its order and its counts concern nobody else.
--
-- Who sends locks the inboxes of both, in the order of their ids, and takes the message's id under the locks: an owner's
-- messages become visible in the order of their ids, so who has seen one has seen all below it.

CREATE TABLE inboxes (
  owner_id bigint PRIMARY KEY,
  -- Messages that came and were not read, of all conversations.
  unread bigint NOT NULL DEFAULT 0 CHECK (unread >= 0),
  -- How many messages the owner has sent since `sending_since`, for the limit a minute.
  sent integer NOT NULL DEFAULT 0,
  sending_since timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);

CREATE TABLE conversations (
  owner_id bigint NOT NULL,
  peer_id bigint NOT NULL,
  -- The newest message.
  last_id bigint NOT NULL,
  unread bigint NOT NULL DEFAULT 0 CHECK (unread >= 0),
  PRIMARY KEY (owner_id, peer_id)
) WITH (fillfactor = 70);

CREATE INDEX conversations_newest ON conversations (owner_id, last_id DESC);

CREATE SEQUENCE message_id_sequence CACHE 1;

CREATE TABLE messages (
  owner_id bigint NOT NULL,
  peer_id bigint NOT NULL,
  -- The same in both copies.
  id bigint NOT NULL,
  is_own boolean NOT NULL,
  text text NOT NULL CHECK (length(text) BETWEEN 1 AND 2000),
  created_at timestamptz NOT NULL,
  PRIMARY KEY (owner_id, peer_id, id)
);

-- What came to an owner, for who listens.
CREATE INDEX messages_received ON messages (owner_id, id) WHERE NOT is_own;

-- Sends a message. `message` is null where the sender has sent `most` within a minute; then `wait` says how many seconds are left.
CREATE FUNCTION send_message(
  sender bigint, recipient bigint, said text, most integer, OUT message bigint, OUT sent_at timestamptz, OUT wait integer
) LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz;
  box inboxes;
BEGIN
  INSERT INTO inboxes (owner_id) SELECT owner FROM unnest(ARRAY[sender, recipient]) owner
    WHERE NOT EXISTS (SELECT FROM inboxes i WHERE i.owner_id = owner) ORDER BY owner
    ON CONFLICT DO NOTHING;
  PERFORM FROM inboxes WHERE owner_id IN (sender, recipient) ORDER BY owner_id FOR NO KEY UPDATE;
  moment := clock_timestamp();
  SELECT * INTO box FROM inboxes WHERE owner_id = sender;
  IF box.sending_since <= moment - interval '1 minute' THEN
    UPDATE inboxes SET sent = 1, sending_since = moment WHERE owner_id = sender;
  ELSIF box.sent < most THEN
    UPDATE inboxes SET sent = box.sent + 1 WHERE owner_id = sender;
  ELSE
    wait := greatest(1, ceil(extract(epoch FROM box.sending_since + interval '1 minute' - moment)));
    RETURN;
  END IF;
  message := nextval('message_id_sequence');
  sent_at := moment;
  INSERT INTO messages (owner_id, peer_id, id, is_own, text, created_at)
    VALUES (sender, recipient, message, true, said, moment), (recipient, sender, message, false, said, moment);
  INSERT INTO conversations AS c (owner_id, peer_id, last_id, unread)
    VALUES (sender, recipient, message, 0), (recipient, sender, message, 1)
    ON CONFLICT (owner_id, peer_id) DO UPDATE SET last_id = excluded.last_id, unread = c.unread + excluded.unread;
  UPDATE inboxes SET unread = unread + 1 WHERE owner_id = recipient;
END $$;

-- Notes that an owner has read a conversation up to a message. A lower id than was noted before changes nothing.
CREATE FUNCTION read_messages(owner bigint, peer bigint, up_to bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  had bigint;
  has bigint;
BEGIN
  PERFORM FROM inboxes WHERE owner_id = owner FOR NO KEY UPDATE;
  SELECT unread INTO had FROM conversations WHERE owner_id = owner AND peer_id = peer;
  -- Unread are the newest that came; of those, the ones after `up_to` stay so.
  SELECT count(*) INTO has FROM (
    SELECT id FROM messages WHERE owner_id = owner AND peer_id = peer AND NOT is_own ORDER BY id DESC LIMIT had
  ) newest WHERE id > up_to;
  IF has < had THEN
    UPDATE conversations SET unread = has WHERE owner_id = owner AND peer_id = peer;
    UPDATE inboxes SET unread = unread - (had - has) WHERE owner_id = owner;
  END IF;
END $$;

-- Who is to be told that a lookup has ended.
CREATE TABLE lookup_followers (
  account_id bigint NOT NULL,
  lookup_id uuid NOT NULL REFERENCES lookups ON DELETE CASCADE,
  PRIMARY KEY (account_id, lookup_id)
);

CREATE INDEX lookup_followers_by_lookup ON lookup_followers (lookup_id);

-- down

DROP TABLE lookup_followers;
DROP FUNCTION read_messages(bigint, bigint, bigint);
DROP FUNCTION send_message(bigint, bigint, text, integer);
DROP TABLE messages;
DROP SEQUENCE message_id_sequence;
DROP TABLE conversations;
DROP TABLE inboxes;
