"""Rescue: a worker is killed in the middle of its jobs, and the others complete them."""

from storm.report import percentile
from storm.scene import Scene
from storm.servers import wait_for

WORKERS = 3
KILLS = 200


def run(plan):
    with Scene(plan.world, "rescue") as scene:
        # Half of all slots are busy, so the dead worker's jobs find a free one.
        scene.take_time(250)
        scene.start_workers(WORKERS)
        producer = scene.produce(0, 10_000_000, batch=1, rate=24)
        wait_for("jobs are done", lambda: scene.number("SELECT count(*) FROM effects") > 20, 60)
        rescues = []
        number = 0
        while plan.goes_on(number, KILLS):
            host = f"worker{number % WORKERS + 1}"
            wait_for(f"{host} works", lambda host=host: scene.number(
                f"SELECT count(*) FROM effects WHERE worker = '{scene.workers[host].name}'") > 2, 60)
            plan.pause(0, 0.3)
            killed = scene.kill_worker(host)
            scene.start_worker(host)
            wait_for("what was asked for before the kill is done", lambda killed=killed: not _open(scene, killed), 120)
            rescues.append(_rescue(scene, killed))
            number += 1
        producer.kill()
        scene.settle(plan.report, "rescue", plan.patience)
        plan.report.at_most(
            f"rescue of a killed worker's jobs, p99 of {number} kills", 5, percentile(rescues, 99), plan.generosity,
            f" (longest {max(rescues):.2f}, median {percentile(rescues, 50):.2f})")


def _open(scene, moment):
    """The number of jobs enqueued before a time that have had no effect."""
    return scene.number(f"""
        SELECT count(*) FROM asked a WHERE a.at < to_timestamp({moment}) AND a.at > to_timestamp({moment - 30})
          AND NOT EXISTS (SELECT FROM effects e WHERE e.number = a.first)""")


def _rescue(scene, killed):
    """The time from the kill until the last job enqueued before it was done."""
    return scene.number(f"""
        SELECT extract(epoch FROM max(e.at)) - {killed} FROM effects e JOIN asked a ON a.first = e.number
        WHERE a.at < to_timestamp({killed}) AND e.at > to_timestamp({killed})""")
