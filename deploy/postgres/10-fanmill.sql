-- Run once, by the superuser, when the volume is empty and no port is open yet: makes the role and the database of Fanmill.
-- The role owns its database, where it migrates and makes partitions, and nothing else. The superuser keeps no password: it
-- signs in through the container's own socket alone.
\getenv password POSTGRES_PASSWORD
CREATE ROLE fanmill LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE fanmill OWNER fanmill;
ALTER ROLE postgres PASSWORD NULL;
