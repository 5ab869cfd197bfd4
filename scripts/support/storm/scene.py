"""The environment of a storm's part: a database, an empty broker, workers and an API on separate hosts, load."""

import itertools
import json
import os
import signal
import subprocess
import time

from storm.servers import Failed, Postgres, Redis, wait_for

ADMIN_TOKEN = "a-token-that-only-the-storm-knows"
# The number of followers of each author.
FOLLOWERS = {"author1": 5, "author2": 50, "author3": 400}
FANS = 400


class World:
    """The network and both servers, shared by all parts."""

    def __init__(self, folder, build, project, network):
        self.folder, self.build, self.project, self.network = folder, build, project, network
        # Programs from other folders, by name.
        self.others = {}
        self.logs = os.path.join(folder, "logs")
        for name in ("redis", "postgres", "logs"):
            os.mkdir(os.path.join(folder, name))
        self.redis = Redis(network, os.path.join(folder, "redis"), os.path.join(self.logs, "redis.log"))
        self.postgres = Postgres(network, os.path.join(folder, "postgres"), os.path.join(self.logs, "postgres.log"))

    def start(self):
        self.postgres.make()
        self.postgres.start()
        self.redis.start()
        self._make_template()

    def program(self, name):
        return self.others.get(name) or os.path.join(self.build, name)

    def settings(self, database, through_network=True):
        urls = (
            (self.postgres.url(database), self.redis.url) if through_network
            else (self.postgres.local_url(database), self.redis.local_url))
        return {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "USER": "operator",
            "TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", ""),
            "FANMILL_POSTGRES_URL": urls[0], "FANMILL_REDIS_URL": urls[1], "FANMILL_ADMIN_TOKEN": ADMIN_TOKEN,
            # The storm's clients send more requests than accounts do.
            "FANMILL_LIMITS": "off",
        }

    def fanmill(self, database, *arguments, limit=300):
        """Runs the admin CLI, bypassing the network; returns its status and output."""
        return subprocess.run(
            [self.program("fanmill"), *arguments], cwd=self.folder, env=self.settings(database, False), text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=limit)

    def must(self, database, *arguments):
        done = self.fanmill(database, *arguments)
        if done.returncode:
            raise Failed(f"fanmill {' '.join(arguments)}: status {done.returncode}\n{done.stderr}")
        return done.stdout

    def _make_template(self):
        """The schema, accounts that follow three authors, and the tables that count effects."""
        sql = self.postgres.sql
        sql("postgres", "CREATE DATABASE template_storm")
        self.must("template_storm", "migrate", "up", "--migrations", os.path.join(self.project, "migrations"))
        authors = ", ".join(f"('{name}', {count})" for name, count in FOLLOWERS.items())
        sql("template_storm", f"""
            INSERT INTO accounts (username) SELECT 'fan' || i FROM generate_series(1, {FANS}) i;
            INSERT INTO accounts (username) SELECT name FROM (VALUES {authors}) a (name, followers);
            INSERT INTO follows (follower_id, followee_id)
              SELECT f.id, a.id FROM (VALUES {authors}) v (name, followers) JOIN accounts a ON a.username = v.name
              JOIN LATERAL (SELECT id FROM accounts WHERE username LIKE 'fan%' ORDER BY id LIMIT v.followers) f ON true
              ORDER BY 2, 1;
            CREATE TABLE asked (
              first bigint PRIMARY KEY, count bigint NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());
            -- A number that is drawn stays drawn: tries that were rolled back are counted as well.
            CREATE SEQUENCE tries;
            CREATE TABLE effects (
              number bigint NOT NULL, try bigint NOT NULL DEFAULT nextval('tries'),
              worker text NOT NULL DEFAULT current_setting('application_name'),
              at timestamptz NOT NULL DEFAULT clock_timestamp());
            CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS $$
              BEGIN
                PERFORM pg_sleep(TG_ARGV[0]::double precision / 1000);
                NEW.at := clock_timestamp();
                RETURN NEW;
              END $$;
            """)


class Scene:
    """One part's database, and the processes that use it."""

    _numbers = itertools.count(1)

    def __init__(self, world, part, tablespace=None):
        self.world, self.network = world, world.network
        self.redis, self.postgres = world.redis, world.postgres
        self.database = f"storm_{part}"
        self.workers = {}
        self._producers = []
        self.api = None
        # Packets of the last part's processes may arrive after a cut has healed, and after the processes have died.
        self.redis.close_clients()
        self.redis.flush()
        where = f" TABLESPACE {tablespace}" if tablespace else ""
        self.postgres.sql("postgres", f"CREATE DATABASE {self.database} TEMPLATE template_storm{where}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.network.heal_all()
        processes = [*self.workers.values(), *self._producers] + ([self.api] if self.api else [])
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()

    def sql(self, text, limit=300):
        return self.postgres.sql(self.database, text, limit)

    def number(self, text):
        """The single number that SQL returns."""
        return float(self.sql(text) or 0)

    def take_time(self, milliseconds):
        """Makes each effect take this long, inside its transaction."""
        self.sql(
            f"CREATE TRIGGER slow BEFORE INSERT ON effects FOR EACH ROW EXECUTE FUNCTION take_time('{milliseconds}')")

    # Processes

    def _start(self, host, name, program, arguments, through_network=True, more=None):
        prefix = self.network.inside(host) if through_network else []
        with open(os.path.join(self.world.logs, f"{self.database}-{name}.log"), "ab") as log:
            return subprocess.Popen(
                [*prefix, self.world.program(program), *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.world.folder, env={**self.world.settings(self.database, through_network), **(more or {})})

    def start_worker(self, host, *arguments, slots=4):
        """Starts a worker on a host; returns its unique name. `worker.name` finds it in Postgres."""
        self.network.add(host)
        name = f"{host}-{next(self._numbers)}"
        process = self._start(
            host, name, "TestWorker", ["--name", name, "--worker-concurrency", str(slots), *arguments])
        process.name = name
        self.workers[host] = process
        return name

    def start_workers(self, count, *arguments, slots=4):
        """Starts this many workers, and waits until they serve."""
        for number in range(1, count + 1):
            self.start_worker(f"worker{number}", *arguments, slots=slots)
        wait_for("workers serve", lambda: self.number("SELECT count(*) FROM workers") >= count, 60)

    def kill_worker(self, host):
        process = self.workers[host]
        process.kill()
        moment = time.time()
        process.wait()
        return moment

    def freeze_worker(self, host):
        os.kill(self.workers[host].pid, signal.SIGSTOP)

    def wake_worker(self, host):
        os.kill(self.workers[host].pid, signal.SIGCONT)

    def start_api(self, more=None):
        """Starts the API, with added or changed settings, and waits until it responds."""
        self.network.add("api")
        self.launch_api(more)
        self.url_host = self.network.add("api")
        wait_for("the API answers", self._api_answers, 60)

    def launch_api(self, more=None):
        self.api = self._start("api", "api", "fanmill-api", [], more={"FANMILL_API_PORT": "8080", **(more or {})})

    def _api_answers(self):
        from storm.load import Client
        return Client(self.url_host, "").ask("GET", "/readyz")[0] == 200

    def kill_api(self):
        self.api.kill()
        self.api.wait()

    def token(self, account):
        return json.loads(self.world.must(self.database, "accounts", "token", account, "--json"))["token"]

    # Work

    def produce(self, first, count, batch=100, rate=0):
        """Enqueues jobs with counted effects, bypassing the network: in a process that continues through outages."""
        producer = self._start(
            "", f"producer-{first}", "TestWorker", [
                "produce", "--first", str(first), "--count", str(count), "--batch", str(batch), "--rate", str(rate),
            ], through_network=False)
        self._producers.append(producer)
        return producer

    def asked(self):
        return int(self.number("SELECT sum(count) FROM asked"))

    def longest_wait(self, since=0, until=1e11):
        """The longest time from enqueueing to effect, of jobs enqueued in that period (Unix time)."""
        return self.number(f"""
            SELECT extract(epoch FROM max(e.at - a.at)) FROM effects e
            JOIN asked a ON a.first = (SELECT max(first) FROM asked WHERE first <= e.number)
            WHERE a.at BETWEEN to_timestamp({since}) AND to_timestamp({until})""")

    # What must hold

    def settle(self, report, part, limit):
        """Waits until nothing is pending, then counts: nothing lost, nothing doubled, all stored counts exact."""
        wait_for(f"{part}: all producers have asked", lambda: all(
            producer.poll() is not None for producer in self._producers), limit)
        deadline = time.monotonic() + limit
        while self.number("SELECT count(*) FROM jobs"):
            if time.monotonic() > deadline:
                report.say("still owed: " + self.sql("""
                    SELECT kind, queue, count(*), min(created_at), max(attempts), max(run_at) FROM jobs
                    GROUP BY 1, 2"""))
                break
            time.sleep(0.2)
        asked = self.asked()
        distinct, effects = (int(word) for word in self.sql(
            "SELECT count(DISTINCT number), count(*) FROM effects").split("|"))
        if asked:
            report.none(f"{part}: jobs lost", asked - distinct, asked)
            report.none(f"{part}: effects doubled", effects - distinct, asked)
        report.none(f"{part}: dead letters", int(self.number("SELECT count(*) FROM dead_jobs")))
        self.audit(report, part)
        return asked

    def audit(self, report, part, limit=60):
        """`fanmill audit`: checks every stored count. The broker may take a moment to forget finished jobs."""
        deadline = time.monotonic() + limit
        while True:
            done = self.world.fanmill(self.database, "audit", "--json")
            if done.returncode == 0 or time.monotonic() > deadline:
                break
            time.sleep(1)
        report.note(f"{part}: audit", "exact", "exact" if done.returncode == 0 else _found(done), done.returncode == 0)


def _found(audit):
    """The output of an audit that found differences."""
    try:
        items = json.loads(audit.stdout)["items"]
    except (ValueError, KeyError):
        return audit.stderr.strip() or f"status {audit.returncode}"
    return ", ".join(f"{item['differing']:,} of {item['audit']}" for item in items if item["differing"])
