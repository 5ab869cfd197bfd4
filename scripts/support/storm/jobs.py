"""Durable jobs under everything at once: kills, freezes, partitions, FLUSHALL, stalls, crashes of both servers."""

import collections
import heapq
import itertools
import time

from storm.scene import Scene
from storm.servers import Failed

WORKERS, SLOTS = 4, 8
# The relative frequency of each failure.
MISHAPS = {"kill": 30, "freeze": 26, "cut": 18, "flush": 9, "stall": 4, "crash Redis": 7, "crash Postgres": 7}


def run(plan, part="jobs"):
    with Scene(plan.world, part) as scene:
        scene.start_workers(WORKERS, slots=SLOTS)
        half = plan.jobs // 2
        # A backlog, and a steady flow beside it while failures occur.
        producers = [
            scene.produce(0, half, batch=1000),
            scene.produce(half, plan.jobs - half, batch=20, rate=max(1, int((plan.jobs - half) / plan.seconds))),
        ]
        weather = Weather(plan, scene)
        limit = time.monotonic() + 3 * plan.seconds + plan.patience
        while any(producer.poll() is None for producer in producers) and time.monotonic() < limit:
            weather.step()
        weather.clear_up()
        seen = ", ".join(f"{count} × {what}" for what, count in sorted(weather.counts.items()))
        plan.report.say(f"{part}: {seen}")
        asked = scene.settle(plan.report, part, plan.patience)
        plan.report.note(
            f"{part}: all asked for", f"{plan.jobs:,}", f"{asked:,} ({seen})", asked == plan.jobs)


class Weather:
    """Draws the next failure, and repairs it when its time is over."""

    def __init__(self, plan, scene):
        self._plan, self._scene, self._rng = plan, scene, plan.rng
        self._order = itertools.count()
        self._mending = []
        # Workers under a failure, which are left alone until it is over.
        self._befallen = set()
        self.counts = collections.Counter()

    def step(self):
        """One failure, and a pause."""
        what = self._rng.choices(list(MISHAPS), list(MISHAPS.values()))[0]
        if getattr(self, "_" + what.lower().replace(" ", "_"))():
            self.counts[what] += 1
        self._mend_until(time.monotonic() + self._rng.uniform(0.3, 3 if self._plan.quick else 5))

    def clear_up(self):
        """Repairs every failure."""
        while self._mending:
            heapq.heappop(self._mending)[2]()
        self._scene.network.heal_all()
        self._victim()

    def _mend_until(self, moment):
        while self._mending and self._mending[0][0] <= moment:
            due, _, mend = heapq.heappop(self._mending)
            time.sleep(max(0, due - time.monotonic()))
            mend()
        time.sleep(max(0, moment - time.monotonic()))

    def _later(self, least, most, mend):
        due = time.monotonic() + self._rng.uniform(least, most)
        heapq.heappush(self._mending, (due, next(self._order), mend))

    def _victim(self):
        """A healthy worker; None if there is none. One that found no server at its start is restarted."""
        for host, process in list(self._scene.workers.items()):
            if host not in self._befallen and process.poll() is not None:
                self._scene.start_worker(host, slots=SLOTS)
                self.counts["start again"] += 1
        well = sorted(set(self._scene.workers) - self._befallen)
        if not well:
            return None
        host = self._rng.choice(well)
        self._befallen.add(host)
        return host

    def _kill(self):
        host = self._victim()
        if not host:
            return False
        self._scene.kill_worker(host)

        def mend():
            self._scene.start_worker(host, slots=SLOTS)
            self._befallen.discard(host)

        self._later(0, 1, mend)
        return True

    def _freeze(self):
        host = self._victim()
        if not host:
            return False
        self._scene.freeze_worker(host)

        def mend():
            self._scene.wake_worker(host)
            self._befallen.discard(host)

        # Shorter and longer than a lease.
        self._later(1, 8, mend)
        return True

    def _cut(self):
        host = self._victim()
        if not host:
            return False
        server, ways = self._rng.choice(["redis", "postgres"]), self._rng.choice(["out", "in", "both"])
        self._scene.network.cut(host, server, ways)

        def mend():
            self._scene.network.heal(host, server)
            self._befallen.discard(host)

        self._later(1, 8 if self._plan.quick else 30, mend)
        return True

    def _flush(self):
        self._scene.redis.flush()
        return True

    def _stall(self):
        self._scene.redis.freeze()
        time.sleep(self._rng.uniform(1, 6))
        self._scene.redis.thaw()
        return True

    def _crash_redis(self):
        self._crash(self._scene.redis)
        return True

    def _crash_postgres(self):
        self._crash(self._scene.postgres)
        return True

    def _crash(self, server):
        server.crash()
        time.sleep(self._rng.uniform(0, 2))
        for attempt in range(3):
            try:
                return server.start()
            except Failed:
                # The crashed server's remaining processes take a moment to exit.
                if attempt == 2:
                    raise
                time.sleep(1)
        return None
