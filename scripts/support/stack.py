"""A complete Fanmill in a temporary folder, run by `fanmill up` for the duration of a `with`."""

import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
READ_TOKEN = "a-read-only-token-for-the-browser"


def settings_of(folder):
    """The settings that `fanmill up` wrote in a folder."""
    with open(os.path.join(folder, ".fanmill", "env")) as file:
        lines = [line.strip().split("=", 1) for line in file if "=" in line and not line.startswith("#")]
    return {name: value.strip("'") for name, value in lines}


class Stack:
    def __init__(self, workers=1, **more):
        """Further settings are environment variables of every command."""
        builds = [os.path.join(PROJECT, ".build", kind) for kind in ("release", "debug")]
        built = [folder for folder in builds if os.path.exists(os.path.join(folder, "fanmill-api"))]
        if not built:
            raise SystemExit("nothing is built: make build")
        # The newer one was built last.
        self.build = max(built, key=lambda folder: os.path.getmtime(os.path.join(folder, "fanmill-api")))
        self.workers = workers
        self.more = more

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="fanmill-stack-")
        # Postgres runs as another user if this runs as root.
        os.chmod(self.folder, 0o755)
        try:
            up = json.loads(
                self.fanmill("up", "--detach", "--api-port", "0", "--workers", str(self.workers), "--json"))
        except BaseException:
            self._remove()
            raise
        self.url = up["api"]
        self.postgres = up["settings"]["FANMILL_POSTGRES_URL"]
        self.settings = settings_of(self.folder)
        self.token = self.settings["FANMILL_ADMIN_TOKEN"]
        return self

    def worker_processes(self):
        """Each worker's process, and the port of its health and metrics."""
        with open(os.path.join(self.folder, ".fanmill", "workers")) as file:
            return [(int(process), int(port)) for _, process, port in map(str.split, file)]

    def __exit__(self, *_):
        try:
            self.fanmill("down")
        finally:
            self._remove()

    def _remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def fanmill(self, *arguments):
        """Runs the admin CLI and returns its output."""
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "FANMILL_ADMIN_READ_TOKEN": READ_TOKEN, "USER": "operator",
            # Scripts send more requests than accounts do.
            "FANMILL_LIMITS": "off",
        } | self.more
        if arguments[0] == "up":
            arguments += ("--migrations", os.path.join(PROJECT, "migrations"))
        done = subprocess.run(
            [os.path.join(self.build, "fanmill"), *arguments], cwd=self.folder, env=environment, text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        if done.returncode:
            raise SystemExit(f"fanmill {' '.join(arguments)}: status {done.returncode}\n{done.stderr}")
        return done.stdout

    def send(self, method, path, token, body=None):
        """Calls the API and returns its response."""
        request = urllib.request.Request(
            self.url + path, method=method, data=json.dumps(body or {}).encode() if method == "POST" else None,
            headers={"Authorization": "Bearer " + token, "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else {}

    def enqueue(self, kind, payload="{}", *options):
        """Enqueues a job and returns its id."""
        return json.loads(self.fanmill("jobs", "enqueue", kind, "--payload", payload, "--json", *options))["id"]

    def sql(self, text):
        """Postgres's result for SQL, without headers."""
        done = subprocess.run(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.postgres, "-c", text], text=True,
            capture_output=True, timeout=120)
        if done.returncode:
            raise SystemExit(f"psql: {done.stderr}")
        return done.stdout.strip()

    def wait_sql(self, what, text, limit=90):
        """Waits until SQL returns `t`."""
        deadline = time.monotonic() + limit
        while self.sql(text) != "t":
            if time.monotonic() > deadline:
                raise SystemExit(f"never happened: {what}")
            time.sleep(0.1)
