"""Ticks: the worker that runs the schedules is killed at each tick."""

import time

from storm.scene import Scene
from storm.servers import wait_for

WORKERS = 5
TICKS = 1000
# The time between ticks in milliseconds: enough for another worker to become leader.
INTERVAL = 1000


def run(plan):
    with Scene(plan.world, "ticks") as scene:
        scene.start_workers(WORKERS, "--tick-every", str(INTERVAL))
        wait_for("ticks fire", lambda: scene.number("SELECT count(*) FROM effects"), 60)
        kills = 0
        while plan.goes_on(kills, TICKS):
            _until_tick(plan.rng.uniform(-0.03, 0.15))
            # Kills the current leader before, during and after a tick's work.
            leader = wait_for("a worker leads", lambda: _leader(scene), 60)
            host = leader.rsplit("-", 1)[0]
            if scene.workers[host].name != leader:
                # The killed worker's session is about to end.
                continue
            scene.kill_worker(host)
            scene.start_worker(host, "--tick-every", str(INTERVAL))
            kills += 1
        time.sleep(2 * INTERVAL / 1000)
        scene.sql("UPDATE schedules SET paused = true")
        time.sleep(1)
        scene.settle(plan.report, "ticks", plan.patience)
        fired = [int(word) for word in scene.sql("SELECT number FROM effects ORDER BY 1").split()]
        expected = range(fired[0], fired[-1] + 1, INTERVAL)
        once = len(set(fired) & set(expected))
        plan.report.note(
            f"ticks that fired once while {kills:,} leaders were killed", f"{len(expected):,} of {len(expected):,}",
            f"{once:,} of {len(expected):,}", fired == list(expected))


def _until_tick(offset):
    """Waits until this long after the next tick."""
    now = time.time()
    next_tick = (now * 1000 // INTERVAL + 1) * INTERVAL / 1000
    time.sleep(max(0, next_tick + offset - now))


def _leader(scene):
    """The name of the worker that holds the scheduler's lock."""
    return scene.sql("""
        SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
          AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended('scheduler', 0)
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())""")
