"""Stale workers: frozen for longer than a lease, in the middle of jobs that others take over, and then woken."""

import time

from storm.scene import Scene

WAKES = 1000
LEASE = 3


def run(plan):
    awake, frozen = (2, 4) if plan.quick else (5, 15)
    with Scene(plan.world, "stale") as scene:
        scene.take_time(50)
        scene.start_workers(awake + frozen)
        producer = scene.produce(0, 10_000_000, batch=2, rate=60)
        wakes = 0
        while plan.goes_on(wakes, WAKES):
            hosts = plan.rng.sample(sorted(scene.workers), frozen)
            for host in hosts:
                scene.freeze_worker(host)
            # Also until the others have ended a worker's sessions.
            time.sleep(LEASE + plan.rng.uniform(0.5, 3))
            for host in hosts:
                scene.wake_worker(host)
            wakes += len(hosts)
            plan.pause(0.5, 1.5)
        producer.kill()
        asked = scene.settle(plan.report, "stale", plan.patience)
        effects = int(scene.number("SELECT count(*) FROM effects"))
        distinct = int(scene.number("SELECT count(DISTINCT number) FROM effects"))
        tries = int(scene.number("SELECT last_value FROM tries"))
        plan.report.note(
            f"stale effects of {wakes:,} wakes after the lease", "0",
            f"{effects - distinct:,} ({tries - asked:,} tries were rolled back)", effects == distinct)
