-- Email addresses are kept in one normal form, which the program makes. An index by lower() of the database's own locale would
-- compare them by another: some fold letters such as İ that the program keeps apart, others fold ASCII alone.

-- What programs of earlier versions write may have capitals; of ASCII the index folds them, in every locale alike. The rest,
-- which is rare, the sweep of sessions rewrites. Until all processes are of this version, sign-ins at older ones scan the table.
DROP INDEX accounts_email_key;
CREATE UNIQUE INDEX accounts_email_key ON accounts (lower(email COLLATE "C")) WHERE email IS NOT NULL;

-- What SQL cannot bring into the normal form.
CREATE INDEX accounts_email_unicode ON accounts (id) WHERE octet_length(email) <> length(email);

UPDATE accounts SET email = lower(email COLLATE "C") WHERE email <> lower(email COLLATE "C");

-- down

DROP INDEX accounts_email_unicode;
DROP INDEX accounts_email_key;
CREATE UNIQUE INDEX accounts_email_key ON accounts (lower(email)) WHERE email IS NOT NULL;
