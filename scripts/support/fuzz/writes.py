"""Finds what a refused request has written to the app's tables.

Each transaction that writes gets a number from Postgres; one that only reads gets none. So a request after which the
next number is still the same has written nothing. Otherwise the rows of later numbers, and tables with another count,
say what was written. A transaction that was rolled back, or only locked a row, leaves neither.
"""

import os
import time

import psycopg

# The queue's own bookkeeping goes on without requests. A job that a request enqueues is in `jobs.jobs`.
QUIET = """
SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND (n.nspname = 'public' OR n.nspname = 'jobs' AND c.relname = 'jobs') ORDER BY 1
"""


class Database:
    def __init__(self, address):
        self.connection = psycopg.connect(address, autocommit=True)
        self.tables = [name for name, in self.connection.execute(QUIET)]
        counts = " UNION ALL ".join(
            f"SELECT '{table}', count(*), count(*) FILTER (WHERE xmin::text::bigint >= %(since)s) FROM {table}"
            for table in self.tables)
        self.counting = f"SELECT * FROM ({counts}) AS counts (name, rows, written)"

    def execute(self, text, values=()):
        return self.connection.execute(text, values)

    def number(self):
        """The number of the next transaction that writes."""
        return int(self.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text").fetchone()[0])

    def tables_since(self, number):
        """For each table its rows, and those written by transactions from this number on."""
        return {name: (rows, written) for name, rows, written in self.execute(self.counting, {"since": number})}

    def ticks(self):
        """How many ticks of schedules there were."""
        return self.execute("SELECT count(*) FROM jobs.schedule_ticks").fetchone()[0]

    def drain(self, limit=60):
        """Waits until no job is running or will be due during a request."""
        due = "now() + interval '300 milliseconds'"
        query = f"SELECT count(*) FROM jobs.jobs WHERE NOT parked AND (run_at IS NULL OR run_at <= {due})"
        deadline = time.monotonic() + limit
        while self.execute(query).fetchone()[0] and time.monotonic() < deadline:
            time.sleep(0.02)


class Watch:
    """Compares the tables, and the folder of pictures, before and after refused requests."""

    def __init__(self, database, folder):
        self.database = database
        self.folder = folder
        self.files = None
        self.number = None
        self.ticks = None
        self.rows = {}
        self.compared = 0

    def begin(self, is_upload=False):
        """Before a request: waits for the jobs of earlier ones, if they have written."""
        number = self.database.number()
        while number != self.number:
            self.database.drain()
            self.number = self.database.number()
            self.ticks = self.database.ticks()
            self.rows = {name: rows for name, (rows, _) in self.database.tables_since(self.number).items()}
            number = self.database.number()
        self.files = self._files() if is_upload else None

    def _files(self):
        return sorted(name for _, _, names in os.walk(self.folder) for name in names)

    def written(self):
        """After a refused request: the tables with other rows, and the folder."""
        files = [self.folder] if self.files is not None and self.files != self._files() else []
        number, since = self.database.number(), self.number
        if number == since:
            return files
        if self.database.ticks() != self.ticks:
            # A schedule's job wrote meanwhile, so nothing can be told of this request.
            self.number = None
            return files
        self.compared += 1
        tables = self.database.tables_since(since)
        changed = [name for name, (rows, written) in tables.items() if written or rows != self.rows[name]]
        self.number, self.rows = number, {name: rows for name, (rows, _) in tables.items()}
        return files + changed
