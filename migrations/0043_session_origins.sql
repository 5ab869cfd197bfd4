-- Where a session was opened and by which program, so that its owner recognizes it.

ALTER TABLE sessions
  -- Of IPv4 the first 24 bits, of IPv6 the first 48. Null for sessions of earlier versions and those that operators issued.
  ADD COLUMN network text,
  -- What the program said that it is (User-Agent).
  ADD COLUMN client text CHECK (length(client) <= 200);

-- down

ALTER TABLE sessions DROP COLUMN network, DROP COLUMN client;
