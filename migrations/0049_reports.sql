-- What users report, what operators do about it, and what the authors are told.
--
-- A subject is text: 'post/12', 'comment/12/34' (of post 12), 'account/5', 'message/77', 'picture/abc…'.

CREATE TABLE reports (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  reporter_id bigint NOT NULL,
  subject text NOT NULL,
  -- Whose it is.
  account_id bigint NOT NULL,
  reason text NOT NULL,
  text text NOT NULL CHECK (length(text) <= 1000),
  -- What the subject said when it was reported.
  excerpt text NOT NULL CHECK (length(excerpt) <= 2000),
  created_at timestamptz NOT NULL DEFAULT now(),
  resolved_at timestamptz,
  -- What was done: 'dismissed', 'taken_down' or 'suspended'.
  resolution text CHECK (resolution IN ('dismissed', 'taken_down', 'suspended')),
  CONSTRAINT reports_resolved CHECK ((resolved_at IS NULL) = (resolution IS NULL))
);

-- A user who reports the same again adds nothing.
CREATE UNIQUE INDEX reports_open ON reports (reporter_id, subject) WHERE resolved_at IS NULL;
CREATE INDEX reports_waiting ON reports (id) WHERE resolved_at IS NULL;
CREATE INDEX reports_by_subject ON reports (subject, id);
CREATE INDEX reports_by_reporter ON reports (reporter_id, created_at);
CREATE INDEX reports_by_account ON reports (account_id);

-- What is taken down now. Lists read the time in the subject's own row; this says why.
CREATE TABLE takedowns (
  subject text PRIMARY KEY,
  account_id bigint NOT NULL,
  reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 500),
  taken_down_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX takedowns_by_time ON takedowns (taken_down_at DESC, subject);
CREATE INDEX takedowns_by_account ON takedowns (account_id);

CREATE TABLE notices (
  account_id bigint NOT NULL,
  -- Grows with time.
  id bigint GENERATED ALWAYS AS IDENTITY,
  -- 'taken_down', 'restored', 'suspended' or 'reopened'.
  action text NOT NULL CHECK (action IN ('taken_down', 'restored', 'suspended', 'reopened')),
  subject text NOT NULL,
  reason text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);

-- down

DROP TABLE notices;
DROP TABLE takedowns;
DROP TABLE reports;
