"""A Redis and a Postgres on separate hosts, which can be frozen, killed and restarted."""

import glob
import os
import signal
import subprocess
import time


class Failed(Exception):
    """An awaited condition did not occur."""


def wait_for(what, condition, limit):
    """Waits until `condition()` is true, and returns its result."""
    deadline = time.monotonic() + limit
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise Failed(f"never happened within {limit:.0f} s: {what}")
        time.sleep(0.1)


def descendants(process):
    """The child processes of a process, and their descendants."""
    try:
        with open(f"/proc/{process}/task/{process}/children") as file:
            children = [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []
    return children + [each for child in children for each in descendants(child)]


class Server:
    """A server process; subclasses define how it starts and how it is known to be ready."""

    def __init__(self, network, host, folder, log):
        self.network, self.host, self.folder = network, host, folder
        self.address = network.add(host)
        self.log = log
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.network.inside(self.host) + self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.folder)
        wait_for(f"{self.host} is ready", self._is_ready, 60)

    def _is_ready(self):
        if self.process.poll() is not None:
            raise Failed(f"{self.host} ended with status {self.process.returncode}: see {self.log}")
        return self.is_ready()

    def signal(self, number):
        """Signals the server first: once frozen, it starts no more processes."""
        os.kill(self.process.pid, number)
        for process in descendants(self.process.pid):
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    def crash(self):
        """Kills it as a crash does; returns once none of its processes is running."""
        others = descendants(self.process.pid)
        self.signal(signal.SIGKILL)
        self.process.wait()
        wait_for(f"{self.host} has ended", lambda: not any(os.path.exists(f"/proc/{each}") for each in others), 30)


class Redis(Server):
    def __init__(self, network, folder, log):
        super().__init__(network, "redis", folder, log)
        self.socket = os.path.join(folder, "redis.sock")

    @property
    def url(self):
        return f"redis://{self.address}:6379"

    @property
    def local_url(self):
        """Bypasses the network, which may be cut."""
        return f"unix://{self.socket}"

    def command(self):
        return [
            "redis-server", "--dir", self.folder, "--port", "6379", "--bind", self.address, "--protected-mode", "no",
            "--unixsocket", self.socket, "--unixsocketperm", "777", "--save", "", "--appendonly", "yes",
            "--maxmemory-policy", "noeviction", "--stream-node-max-entries", "16",
        ]

    def is_ready(self):
        done = subprocess.run(
            ["redis-cli", "-s", self.socket, "PING"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.stdout.strip() == "PONG"

    def flush(self):
        self._run("FLUSHALL")

    def close_clients(self):
        self._run("CLIENT", "KILL", "TYPE", "normal")

    def _run(self, *command):
        subprocess.run(
            ["redis-cli", "-s", self.socket, *command], check=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, timeout=60)


class Postgres(Server):
    def __init__(self, network, folder, log):
        super().__init__(network, "postgres", folder, log)
        self.data = os.path.join(folder, "data")
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
        if not programs:
            raise Failed("no Postgres here: `make setup` installs it")
        self.programs = programs[-1]
        self.as_postgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]

    def url(self, database):
        return f"postgresql://postgres@{self.address}:5432/{database}"

    def local_url(self, database):
        """Bypasses the network, which may be cut."""
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def make(self):
        """Creates the cluster."""
        subprocess.run(["chown", "postgres:postgres", self.folder], check=True)
        subprocess.run(
            [
                *self.as_postgres, f"{self.programs}/initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E",
                "UTF8", "--lc-collate=C", "--lc-ctype=C.UTF-8", "--no-sync", "--no-instructions",
            ], check=True, cwd=self.folder, stdout=subprocess.DEVNULL)
        with open(os.path.join(self.data, "pg_hba.conf"), "a") as file:
            file.write("host all all 10.77.0.0/16 trust\n")

    def command(self):
        settings = {
            # Skipping fsync loses nothing when a process is killed; only a power loss would.
            "fsync": "off", "full_page_writes": "off", "shared_buffers": "128MB", "max_connections": "400",
            "max_wal_size": "2GB", "listen_addresses": self.address, "unix_socket_directories": self.folder,
        }
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [*self.as_postgres, f"{self.programs}/postgres", "-D", self.data, *words]

    def is_ready(self):
        done = subprocess.run(
            [f"{self.programs}/pg_isready", "-q", "-h", self.folder], stdin=subprocess.DEVNULL)
        return done.returncode == 0

    def sql(self, database, text, limit=300):
        """Postgres's result for SQL: lines, with columns separated by `|`."""
        done = subprocess.run(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.local_url(database), "-c", text],
            text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=limit)
        if done.returncode:
            raise Failed(f"psql: {done.stderr.strip()}")
        return done.stdout.strip()
