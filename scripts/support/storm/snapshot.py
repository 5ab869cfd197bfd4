"""A snapshot held for half an hour, as by a dump, under as many jobs as a worker can do."""

import json
import subprocess
import time

from storm.scene import Scene
from storm.servers import wait_for

MINUTES = 30
# A producer enqueues this many at a time while fewer are pending.
CHUNK = 20_000
BATCH = 200


def run(plan):
    with Scene(plan.world, "snapshot") as scene:
        scene.start_workers(1, slots=8)
        load = Load(scene)
        load.keep_up(30)
        before = load.rate(120)
        plan.report.say(f"snapshot: {before:,.0f} jobs/s without")
        session = subprocess.Popen(
            ["psql", "-X", "-q", "-A", "-t", "-d", scene.postgres.local_url(scene.database)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            session.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;\n")
            session.stdin.flush()
            session.stdout.readline()
            end = time.monotonic() + 60 * MINUTES
            rates = []
            while time.monotonic() < end:
                rates.append(load.rate(120))
                plan.report.say(f"snapshot: {rates[-1]:,.0f} jobs/s")
            named = _doctor(scene)
        finally:
            session.kill()
            session.wait()
        last = sum(rates[-3:]) / len(rates[-3:])
        plan.report.note(
            f"snapshot held for {MINUTES} minutes: jobs a second in the last 6, of those before", "≥ 90 %",
            f"{100 * last / before:.0f} % ({last:,.0f} of {before:,.0f}; lowest {min(rates):,.0f})",
            last >= 0.9 * before)
        plan.report.note("snapshot: the doctor names it", "warning", named, named != "ok")
        scene.settle(plan.report, "snapshot", plan.patience)


class Load:
    """Enqueues jobs as fast as they are done."""

    def __init__(self, scene):
        self._scene = scene
        self._asked = 0
        self._producer = None

    def keep_up(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._asked - self._done() < CHUNK and (self._producer is None or self._producer.poll() is not None):
                self._producer = self._scene.produce(self._asked, CHUNK, batch=BATCH)
                self._asked += CHUNK
            time.sleep(0.2)

    def rate(self, seconds):
        """Jobs per second, over this many seconds."""
        begin, done = time.monotonic(), self._done()
        self.keep_up(seconds)
        return (self._done() - done) / (time.monotonic() - begin)

    def _done(self):
        """The count from a sequence: counting rows becomes slower the longer a snapshot is held."""
        return int(self._scene.number("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM tries"))


def _doctor(scene):
    """The doctor's query for the oldest snapshot."""
    def found():
        done = scene.world.fanmill(scene.database, "doctor", "--json")
        items = json.loads(done.stdout)["items"]
        return next(item["status"] for item in items if item["name"] == "oldest snapshot")
    return wait_for("the doctor answers", found, 60)
