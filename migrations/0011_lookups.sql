-- YouTube channels, the questions that led to them, and the lookups that ask.

CREATE TABLE channels (
  id text PRIMARY KEY,
  title text NOT NULL,
  handle text,
  thumbnail text,
  published_at timestamptz,
  subscribers bigint,
  -- Whether handle and subscribers were asked for: a search does not tell them.
  has_details boolean NOT NULL,
  -- As old as its oldest field may be: what YouTube said is refreshed or deleted within 30 days.
  fetched_at timestamptz NOT NULL
);

CREATE INDEX channels_by_age ON channels (fetched_at);

-- What YouTube answered, by question ('id:UC…', 'handle:@…', 'text:…').
CREATE TABLE channel_answers (
  question text PRIMARY KEY,
  -- Ids of channels, the best first.
  channels text[] NOT NULL,
  -- Sent back byte for byte when the question is asked again.
  etag text,
  fetched_at timestamptz NOT NULL
);

CREATE INDEX channel_answers_by_age ON channel_answers (fetched_at);

CREATE TABLE lookups (
  id uuid PRIMARY KEY,
  question text NOT NULL,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'running', 'parked', 'done', 'failed')),
  -- The job that will do it.
  job uuid NOT NULL,
  -- What went wrong, at last or so far: a word for programs and a sentence for people.
  reason text,
  message text,
  retry_at timestamptz CHECK ((state = 'parked') = (retry_at IS NOT NULL)),
  created_at timestamptz NOT NULL,
  ended_at timestamptz CHECK ((state IN ('done', 'failed')) = (ended_at IS NOT NULL))
);

-- A question that many ask at once is asked once.
CREATE UNIQUE INDEX lookups_open ON lookups (question) WHERE state IN ('waiting', 'running', 'parked');
CREATE INDEX lookups_by_time ON lookups (created_at DESC, id);
CREATE INDEX lookups_by_end ON lookups (ended_at) WHERE ended_at IS NOT NULL;

-- down

DROP TABLE lookups;
DROP TABLE channel_answers;
DROP TABLE channels;
