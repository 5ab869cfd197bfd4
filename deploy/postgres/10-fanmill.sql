-- Run once, by the superuser, while the volume is empty and no port is open: creates Fanmill's role and database.
-- The role owns only its database, in which it migrates and creates partitions. The superuser has no password left: it
-- can sign in only through the container's own socket.
\getenv password POSTGRES_PASSWORD
CREATE ROLE fanmill LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE fanmill OWNER fanmill;
ALTER ROLE postgres PASSWORD NULL;
